// CUDA graphs of whole runs: what they do to a step that waits for its host, and to memory.
#include <doctest/doctest.h>

#include <string>

#include "predict/testing.h"

using namespace foretrain;

namespace {

Prediction predicted(const std::string& model, const std::string& plan, std::int64_t batch = 64) {
  const Run run = run_of(model, "dgx-h100", 8, "megatron", plan, batch);
  return evaluator_of(run).predict(run.plan, run.global_batch);
}

Seconds waits(const Prediction& p) { return cause(p, StepCause::kLaunch); }

}  // namespace

// gpt2 has kernels of a few us: without graphs its step waits for launches most of the time. In one graph its passes do
// not wait at all, and the step is shorter by what was waited for, and by what kernels gain (segment.h).
TEST_CASE("a step that waits for its host is the GPU's in one graph") {
  const Prediction eager = predicted("gpt2", ""), layer = predicted("gpt2", "cuda_graph=layer"),
                   full = predicted("gpt2", "cuda_graph=full");
  CHECK(waits(eager).value > 0.3 * eager.step.value);
  CHECK(waits(full) == Seconds(0));
  CHECK(layer.step.value < eager.step.value);
  CHECK(full.step.value < layer.step.value);
  CHECK(full.step.value < eager.step.value - 0.9 * waits(eager).value);
}

TEST_CASE("large kernels gain next to nothing") {
  const Prediction eager = predicted("llama-3-8b", "tp=8,sp=1,micro_batch=2"),
                   full = predicted("llama-3-8b", "tp=8,sp=1,micro_batch=2,cuda_graph=full");
  CHECK(full.step.value <= eager.step.value);
  CHECK(full.step.value > 0.9 * eager.step.value);
}

TEST_CASE("what is captured of experts is faster the more it is, down to one graph that nothing waits for") {
  const std::string plan = "ep=8,expert_imbalance=1,dispatcher=deepep";
  double before = 1e9;
  for (const char* more : {"", ",cuda_graph=moe_router", ",cuda_graph=attn+moe_router+moe_preprocess",
                           ",cuda_graph=layer,expert_sync=0", ",cuda_graph=full,expert_sync=0"}) {
    const double step = predicted("olmoe-1b-7b", plan + more).step.value;
    CHECK(step < before);
    before = step;
  }
}

TEST_CASE("graphs never need less memory") {
  for (const char* plan : {"", "tp=2,sp=1", "pp=2", "pp=2,vpp=2", "pp=4,zero=1", "recompute=selective"}) {
    const auto with = [&](const char* scope) {
      const std::string both = std::string(plan) + (*plan ? "," : "") + "cuda_graph=" + scope;
      return predicted("llama-3-8b", both);
    };
    const Prediction none = with("none");
    for (const char* scope : {"attn", "attn+mlp", "layer", "full"}) {
      const Prediction p = with(scope);
      CHECK(p.needed >= none.needed);
      CHECK(p.peak >= none.peak);
      CHECK(p.peak_allocated >= none.peak_allocated);
    }
  }
}

// 32 layers in one chunk, 8192 tokens of 4096 in bf16 (64 MiB): each layer's graph reads from a buffer of its own, kept
// from forward to backward. Beside them lie a pool that only graphs use, and the graphs.
TEST_CASE("each layer's graph keeps its input") {
  const Prediction none = predicted("llama-3-8b", "cuda_graph=none"),
                   layer = predicted("llama-3-8b", "cuda_graph=layer");
  const double buffers = 32.0 * 8192 * 4096 * 2;
  const double more = layer.peak_allocated.value - none.peak_allocated.value;
  CHECK(more >= buffers);
  CHECK(more < 1.5 * buffers);
}
