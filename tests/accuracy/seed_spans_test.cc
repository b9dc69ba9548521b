// A transformer layer as it ran inside four measured training runs, from its first kernel to its last, waits
// for the host included: forward, and backward with recomputation. FORETRAIN_SEED names the folder with
// measured_runs.json (tests/accuracy/check sets it).
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "cost/profile_store.h"
#include "segment/segment.h"
#include "workload/workload.h"

using namespace foretrain;
using Json = nlohmann::json;

namespace {

Json measured_runs() {
  const char* folder = std::getenv("FORETRAIN_SEED");
  REQUIRE_MESSAGE(folder != nullptr, "start it by tests/accuracy/check");
  std::ifstream file(std::string(folder) + "/measured_runs.json");
  return Json::parse(file);
}

Model model_of(const Json& a) {
  Model model;
  model.name = "seed";
  model.hidden = a.at("hidden");
  const std::int64_t heads = a.at("heads"), kv_heads = a.at("kv_heads"), ffn = a.at("ffn"), layers = 1;
  model.blocks = {{layers, Block{heads, kv_heads, model.hidden / heads, ffn, MlpKind::kGelu}}};
  model.norm = a.at("norm") == "layernorm" ? Norm::kLayernorm : Norm::kRmsnorm;
  model.positions = Positions::kRope;
  model.rotary_fraction = a.at("rotary_fraction");
  model.vocab = a.at("vocab");
  model.biases = model.qkv_bias = true;
  model.norm_bias = model.norm == Norm::kLayernorm;
  const std::string residual = a.at("residual");
  model.residual = residual.starts_with("parallel") ? Residual::kParallel : Residual::kSequential;
  return model;
}

}  // namespace

TEST_CASE("a layer's forward and backward spans are within 8 % of the measured runs") {
  const Catalog catalog;
  const ProfileStore store;
  const Stack neox = catalog.stack("neox").value();
  for (const Json& run : measured_runs()) {
    const Json& kernels = run.at("in_situ_kernels_middle_stage");
    const std::string id = run.at("id"), site = run.at("site");
    const Json& plan_of = run.at("plan");
    const Model model = model_of(run.at("architecture"));
    Plan plan;
    plan.tp = plan_of.at("tp");
    plan.micro_batch = plan_of.at("micro_batch");
    plan.recompute = Recompute::kFull;
    plan.precision = Dtype::kFp16;
    const std::string attention = run.at("architecture").at("attention");
    plan.attention = attention.starts_with("unfused") ? AttentionKind::kUnfused : AttentionKind::kFlash;
    plan.partition_activations = plan_of.at("partition_activations").get<bool>();
    const Cluster cluster = catalog.cluster(site).value();
    const auto choice = store.costs_for(cluster, "");
    REQUIRE(choice.has_value());
    const std::int64_t seq = run.at("architecture").at("seq");
    constexpr std::int64_t kLayers = 8;
    const ChunkWork work =
        build_chunk(model, neox, choices_of(model, plan, neox, seq, true), Chunk{kLayers, false, false});
    const Network network(cluster, Layout{.tp = plan.tp, .dp = plan_of.at("dp"), .pp = plan_of.at("pp")});
    const auto compare = [&](const std::string& which, const Pass& pass, double span, double sum) {
      const Segment segment = lay_out(pass, *choice->costs, network, cluster.host_launch, Seconds(0));
      const double predicted = segment.duration.value * 1e6 / kLayers;
      const double waits = segment.by_cause[static_cast<std::size_t>(Cause::kLaunch)].value * 1e6 / kLayers;
      MESSAGE(id, " ", which, ": predicted ", predicted, " us, measured ", span, " us, error ",
              predicted / span - 1, "; waits for the host: predicted ", waits, " us, measured ", span - sum,
              " us");
      CHECK(std::abs(predicted / span - 1) <= 0.08);
    };
    compare("forward", work.forward, kernels.at("layer_forward_span_us"),
            kernels.at("layer_forward_kernel_sum_us"));
    if (kernels.contains("layer_backward_span_us"))
      compare("backward", work.backward, kernels.at("layer_backward_span_us"),
              kernels.at("layer_backward_kernel_sum_us"));
  }
}
