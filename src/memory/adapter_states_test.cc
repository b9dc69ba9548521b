#include <doctest/doctest.h>

#include "memory/counters.h"
#include "memory/states.h"
#include "spec/catalog.h"
#include "spec/plan_text.h"

using namespace foretrain;

namespace {

constexpr double kAdapters = 41'943'040, kAll = 8'030'261'248;
constexpr double kMatrices = 32 * (2.0 * 4096 * 4096 + 2.0 * 4096 * 1024 + 3.0 * 4096 * 14336);
constexpr double kRows = 32 * (2.0 * 4096 + 2.0 * 1024 + 2.0 * 14336 + 4096);

StateBytes states(const Stack& stack, std::string_view text, std::int64_t dp = 1) {
  const Model model = Catalog().model("llama-3-8b").value();
  Plan plan = parse_plan(text).value();
  plan.dp = dp;
  const Setting setting{model, {}, stack, 4096};
  const Job job = job_of(setting, plan, dp);
  return state_bytes(
      parameter_share(model, stack, job.mesh.weight_ranks(), {32, true, true}, true, job.choices.adapters),
      stack, job);
}
StateBytes states(std::string_view stack, std::string_view text, std::int64_t dp = 1) {
  return states(Catalog().stack(stack).value(), text, dp);
}

}  // namespace

TEST_CASE("LoRA holds the model once, and gradients and states of adapters alone") {
  // bf16 throughout: 2 bytes of weight, 2 of gradient, 4 of moments an adapter.
  const StateBytes bf16 = states("hf-eager", "lora=16");
  CHECK(bf16.weights.value == 2 * kAll + 2 * kAdapters);
  CHECK(bf16.gradients.value == 2 * kAdapters);
  CHECK(bf16.optimizer.value == 4 * kAdapters);
  // PEFT's fp32: 4, 4 and 8, and no master copy.
  const StateBytes fp32 = states("hf-peft", "lora=16");
  CHECK(fp32.weights.value == 2 * kAll + 4 * kAdapters);
  CHECK(fp32.gradients.value == 4 * kAdapters);
  CHECK(fp32.optimizer.value == 8 * kAdapters);
  // bf16 adapters with fp32 gradients, moments and master copy.
  const StateBytes mixed = states("generic", "lora=16");
  CHECK(mixed.gradients.value == 4 * kAdapters);
  CHECK(mixed.optimizer.value == 12 * kAdapters);
}

TEST_CASE("QLoRA's products take 4.5 bits a weight, doubly quantised 4.127, all else two bytes") {
  const double rest = 2 * (kAll - kMatrices) + 2 * kAdapters;
  CHECK(states("hf-eager", "lora=16,base=nf4,double_quant=0").weights.value == rest + kMatrices * 4.5 / 8);
  const double doubly = states("hf-eager", "lora=16,base=nf4,double_quant=1").weights.value - rest;
  CHECK(doubly == kMatrices / 2 + kMatrices / 64 + kMatrices / 64 / 256 * 4);
  CHECK(8 * doubly / kMatrices == doctest::Approx(4.127).epsilon(1e-4));
  CHECK(states("hf-eager", "lora=16,base=int8").weights.value == rest + kMatrices + 4 * kRows);
}

TEST_CASE("ZeRO divides what is trained from its first stages on, frozen weights from the third") {
  const auto of = [](std::string_view zero) { return states("generic", "lora=16," + std::string(zero), 8); };
  const double whole = 2 * kAll + 2 * kAdapters;
  CHECK(of("zero=1").optimizer.value == 12 * kAdapters / 8);
  CHECK(of("zero=1").weights.value == whole);
  CHECK(of("zero=2").gradients.value == 4 * kAdapters / 8);
  CHECK(of("zero=2").weights.value == whole);
  CHECK(of("zero=3").weights.value == doctest::Approx(whole / 8));
}

TEST_CASE("an offloaded optimizer leaves the GPU with its master copy, from ZeRO 2 on with gradients") {
  const StateBytes here = states("generic", "", 8), there = states("generic", "offload_optimizer=1", 8);
  CHECK(there.optimizer.value == 0);
  CHECK(there.host.value == 12 * kAll);
  CHECK(there.gradients == here.gradients);
  const StateBytes sharded = states("generic", "zero=2,offload_optimizer=1", 8);
  CHECK(sharded.gradients.value == 0);
  CHECK(sharded.host.value == 16 * kAll / 8);
  // A CPU's Adam keeps fp32 whatever the stack does on the GPU.
  CHECK(states("hf-eager", "offload_optimizer=1").host.value == 12 * kAll);
}

TEST_CASE("paged states are no tensor of torch's, and need not fit") {
  const StateBytes paged = states("hf-peft", "optimizer=paged_adamw_8bit");
  CHECK(paged.optimizer.value == 0);
  CHECK(paged.paged.value == kAll * 2 * (1 + 4.0 / 256));
  CHECK(paged.total() == paged.weights + paged.gradients);
}

TEST_CASE("while weights are loaded there is what stays, and one matrix that is being quantised") {
  const Bytes matrix(2.0 * 4096 * 14336);
  CHECK(states("hf-peft", "").loading.value == 0);
  const StateBytes plain = states("hf-peft", "lora=16"), four = states("hf-peft", "lora=16,base=nf4");
  CHECK(plain.loading == plain.weights);
  CHECK(four.loading == four.weights + matrix);
  // Whole on every GPU, though ZeRO 3 divides it later, where a stack loads so; then it is the peak.
  Stack stack = Catalog().stack("hf-eager").value();
  stack.adapters.loads_whole = true;
  const StateBytes divided = states("hf-peft", "lora=16,zero=3", 8),
                   whole = states(stack, "lora=16,zero=3", 8);
  CHECK(divided.loading == divided.weights);
  CHECK(whole.loading.value == 2 * kAll + 2 * kAdapters);
  const MemoryCounters counters =
      memory_counters(whole, {gib(1), gib(1), Bytes(0)}, Bytes(0), stack, 1, gib(0.6));
  CHECK(counters.needed == whole.loading + gib(0.6));
  CHECK(counters.total < counters.needed);
}
