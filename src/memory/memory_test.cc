#include "memory/memory.h"

#include <doctest/doctest.h>

#include "spec/catalog.h"

using namespace foretrain;

namespace {

Stack stack(std::string_view name) {
  auto found = Catalog().stack(name);
  REQUIRE_MESSAGE(found, (found ? "" : found.error().text()));
  return *found;
}

}  // namespace

TEST_CASE("Mixed precision holds 18 bytes a parameter with fp32 gradients, 16 with fp16 ones") {
  // Rajbhandari et al. 2020, section 3.1: 2 + 2 + 12 bytes; an fp32 accumulator makes the gradient 4.
  const ParameterShare share{1'000'000, 10, 0};
  const Stack megatron = stack("megatron");
  CHECK(state_bytes(share, megatron, Dtype::kBf16, Dtype::kFp32, 0, 8).total() == Bytes(18e6));
  CHECK(state_bytes(share, megatron, Dtype::kFp16, Dtype::kFp16, 0, 8).total() == Bytes(16e6));
}

TEST_CASE("ZeRO 1 divides the optimizer's states by dp and nothing else") {
  const ParameterShare share{1'000'000, 10, 0};
  const Stack megatron = stack("megatron");
  const StateBytes whole = state_bytes(share, megatron, Dtype::kBf16, Dtype::kFp32, 0, 8);
  const StateBytes sharded = state_bytes(share, megatron, Dtype::kBf16, Dtype::kFp32, 1, 8);
  CHECK(sharded.weights == whole.weights);
  CHECK(sharded.gradients == whole.gradients);
  CHECK(sharded.optimizer * 8.0 == whole.optimizer);
}

TEST_CASE("ZeRO 2 divides gradients too, ZeRO 3 all of 18 bytes a parameter") {
  const ParameterShare share{1'000'000, 10, 0};
  const Stack megatron = stack("megatron");
  const auto states = [&](int zero) {
    return state_bytes(share, megatron, Dtype::kBf16, Dtype::kFp32, zero, 8);
  };
  CHECK(states(2).weights == Bytes(2e6));
  CHECK(states(2).gradients == Bytes(0.5e6));
  CHECK(states(2).optimizer == Bytes(1.5e6));
  CHECK(states(3).total() == Bytes(18e6 / 8));
}

TEST_CASE("What is gathered, and a unit's whole gradients, are there while a pass runs") {
  ChunkWork work;
  work.gathered = Bytes(30);
  work.unit_gradients = Bytes(10);
  CHECK(pass_bytes(work).forward_extra == Bytes(30));
  CHECK(pass_bytes(work).backward_extra == Bytes(40));
  CHECK(pass_bytes(work).weight_extra == Bytes(10));
  CHECK(pass_bytes(work).held == Bytes(0));
}

TEST_CASE("Pure bf16 training with bf16 moments holds 8 bytes a parameter") {
  const ParameterShare share{1'000'000, 10, 0};
  CHECK(state_bytes(share, stack("hf-eager"), Dtype::kBf16, Dtype::kBf16, 0, 1).total() == Bytes(8e6));
}

TEST_CASE("Gradients that are freed after each step are not there when its only backward begins") {
  const StateBytes states{Bytes(20), Bytes(10), Bytes(40)};
  Stack lazy;
  lazy.lazy_gradients = true;
  CHECK(allocated_bytes(states, Bytes(100), lazy, 1) == Bytes(160));
  CHECK(allocated_bytes(states, Bytes(5), lazy, 1) == Bytes(70));     // at the step's end: all states
  CHECK(allocated_bytes(states, Bytes(100), lazy, 2) == Bytes(170));  // kept from one micro-batch to the next
  CHECK(allocated_bytes(states, Bytes(100), Stack{}, 1) == Bytes(170));
}

TEST_CASE("Narrow gradients are copied to fp32 for the step, of the shard that a rank updates") {
  const ParameterShare share{1'000'000, 10, 0};
  const Stack megatron = stack("megatron");
  const auto copy = [&](Dtype gradients, int zero) {
    return state_bytes(share, megatron, Dtype::kFp16, gradients, zero, 8).step_copy;
  };
  CHECK(copy(Dtype::kFp32, 0) == Bytes(0));
  CHECK(copy(Dtype::kFp16, 0) == Bytes(4e6));
  CHECK(copy(Dtype::kFp16, 1) == Bytes(0.5e6));
  CHECK(state_bytes(share, stack("hf-eager"), Dtype::kBf16, Dtype::kBf16, 0, 1).step_copy == Bytes(0));
  // The passes' tensors are gone by then: the larger counts.
  const StateBytes states{Bytes(20), Bytes(20), Bytes(120), Bytes(40)};
  CHECK(allocated_bytes(states, Bytes(100), megatron, 1) == Bytes(260));
  CHECK(allocated_bytes(states, Bytes(10), megatron, 1) == Bytes(200));
}

TEST_CASE("What a forward holds is what its tasks declare; recomputation moves it to the backward") {
  Model model;
  model.hidden = 1024;
  model.blocks = {{4, Block{16, 16, 64, 4096, MlpKind::kGelu}}};
  model.vocab = 51200;
  model.biases = model.qkv_bias = true;
  const Stack megatron = stack("megatron");
  Plan plan;
  const auto bytes_with = [&](Recompute recompute) {
    plan.recompute = recompute;
    return pass_bytes(
        build_chunk(model, megatron, choices_of(model, plan, megatron, 2048, true), Chunk{4, false, false}));
  };
  const PassBytes none = bytes_with(Recompute::kNone);
  const PassBytes full = bytes_with(Recompute::kFull);
  CHECK(full.held == Bytes(4 * 2.0 * 2048 * 1024));
  CHECK(full.held < none.held);
  // One layer's worth comes back while its backward runs.
  CHECK(full.backward_extra.value == doctest::Approx(none.backward_extra.value + none.held.value / 4));
}

TEST_CASE("A block that is run again and the loss are not there at once") {
  Model model;
  model.hidden = 1024;
  model.blocks = {{4, Block{16, 16, 64, 4096, MlpKind::kGelu}}};
  model.vocab = 51200;
  const Stack hf = stack("hf-eager");
  Plan plan;
  plan.recompute = Recompute::kFull;
  const auto extra_of = [&](Chunk chunk) {
    return pass_bytes(build_chunk(model, hf, choices_of(model, plan, hf, 2048, false), chunk)).backward_extra;
  };
  // Two fp32 tensors of logits are more than all that a block keeps.
  CHECK(extra_of({4, false, true}) == Bytes(8.0 * 2048 * 51200));
  CHECK(extra_of({4, false, false}) < Bytes(8.0 * 2048 * 51200));
}
