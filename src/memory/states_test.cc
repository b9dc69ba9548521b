#include "memory/states.h"

#include <doctest/doctest.h>

#include "spec/catalog.h"
#include "spec/plan_text.h"

using namespace foretrain;

namespace {

Stack stack(std::string_view name) {
  auto found = Catalog().stack(name);
  REQUIRE_MESSAGE(found, (found ? "" : found.error().text()));
  return *found;
}

constexpr double kN = 1'000'000;  // elements of the rank
const ParameterShare kShare{1'000'000, 10, 0, 600'000, 600'000, 100'000, 200'000};

StateBytes states(std::string_view name, std::string_view plan_text, std::int64_t dp = 8) {
  auto plan = parse_plan(plan_text);
  REQUIRE_MESSAGE(plan, (plan ? "" : plan.error().text()));
  plan->dp = dp;
  const Setting setting{{}, {}, stack(name), 2048};
  return state_bytes(kShare, setting.stack, job_of(setting, *plan, dp));
}

}  // namespace

// A recipe: bytes an element of weights, accumulated gradients, master copy and moments.
TEST_CASE("Every recipe holds its closed form at every ZeRO stage") {
  struct Recipe {
    const char* stack;
    const char* plan;
    double w, g, c, s;
  };
  const double eight_bit = 2 * (1 + 4.0 / 256);
  const Recipe recipes[] = {
      // Rajbhandari et al. 2020, section 3.1: 2 + 2 + 12 bytes; an fp32 accumulator makes the gradient 4.
      {"megatron", "precision=bf16", 2, 4, 4, 8},
      {"megatron", "precision=fp16", 2, 2, 4, 8},
      {"megatron", "precision=fp16,grad_dtype=fp32", 2, 4, 4, 8},
      {"megatron", "grad_dtype=bf16,master_weights=false,optimizer=adamw_bf16", 2, 2, 0, 4},
      {"megatron", "grad_dtype=bf16,master_weights=false", 2, 2, 0, 8},
      {"megatron", "optimizer=adamw_bf16", 2, 4, 4, 4},
      {"megatron", "optimizer=adamw_8bit", 2, 4, 4, eight_bit},
      // 600,000 elements in matrices with one fp32 momentum, the others with two moments.
      {"megatron", "optimizer=muon", 2, 4, 4, 0.6 * 4 + 0.4 * 8},
      {"hf-eager", "precision=bf16", 2, 2, 0, 4},
  };
  for (const Recipe& r : recipes) {
    CAPTURE(r.plan);
    const auto total = [&](const char* zero) {
      return states(r.stack, std::string(r.plan) + zero).total().value;
    };
    CHECK(total(",zero=0") == doctest::Approx(kN * (r.w + r.g + r.c + r.s)));
    CHECK(total(",zero=1") == doctest::Approx(kN * (r.w + r.g + (r.c + r.s) / 8)));
    CHECK(total(",zero=2") == doctest::Approx(kN * (r.w + (r.g + r.c + r.s) / 8)));
    CHECK(total(",zero=3") == doctest::Approx(kN * (r.w + r.g + r.c + r.s) / 8));
    CHECK(total(",zero=3,shard=4") == doctest::Approx(kN * (r.w + r.g + r.c + r.s) / 4));
  }
}

TEST_CASE("Weights that are kept in fp32 are their own master copy: 16 bytes, and the casts below ZeRO 3") {
  CHECK(states("torchtitan", "zero=3").total() == Bytes(16e6 / 8));
  CHECK(states("torchtitan", "zero=3").weights == Bytes(4e6 / 8));
  // SHARD_GRAD_OP: fp32 shards, and whole bf16 weights from forward to backward.
  CHECK(states("torchtitan", "zero=2").total() == Bytes(16e6 / 8 + 2e6));
  CHECK(states("torchtitan", "zero=0").total() == Bytes(18e6));
}

TEST_CASE("torch DDP keeps gradients a second time, in buckets, where there are replicas and no ZeRO") {
  CHECK(states("nanotron", "zero=0").buffers == Bytes(2e6));
  CHECK(states("nanotron", "zero=0", 1).buffers == Bytes(0));
  CHECK(states("nanotron", "zero=1").buffers == Bytes(0));
  CHECK(states("megatron", "zero=0").buffers == Bytes(0));
}

TEST_CASE("Narrow gradients are copied to fp32 for the step, of the shard that a rank updates") {
  const auto copy = [](const char* plan) { return states("megatron", plan).step_copy; };
  CHECK(copy("precision=fp16,grad_dtype=fp32") == Bytes(0));
  CHECK(copy("precision=fp16") == Bytes(4e6));
  CHECK(copy("precision=fp16,zero=1") == Bytes(0.5e6));
  CHECK(states("hf-eager", "").step_copy == Bytes(0));
}

TEST_CASE("Muon iterates on three bf16 tensors of the largest matrix") {
  CHECK(states("megatron", "optimizer=muon").step_copy == Bytes(3 * 2 * 100'000.0));
}

TEST_CASE("Nanotron puts ZeRO 1's weights together in one block and, before, in one for each shard") {
  const StateBytes s = states("nanotron", "zero=1");
  CHECK(s.gather_block == Bytes(2e6));
  CHECK(s.gather_pieces == Bytes(2e6 / 8));
  CHECK(s.gather_copies == Bytes(4e6));
  CHECK(s.in_step() == Bytes(4e6));
  CHECK(states("nanotron", "zero=1", 1).in_step() == Bytes(0));
  CHECK(states("megatron", "zero=1").in_step() == Bytes(0));
}

// 600,000 of a million elements are in the blocks' matrices, which products take in fewer bits.
TEST_CASE("copies of weights in fewer bits lie beside those of the passes, or in their place") {
  const auto weights = [](const char* plan) { return states("megatron", plan).weights.value; };
  const double n = kN, m = 600'000;
  CHECK(weights("precision=fp8") == doctest::Approx(2 * n + 2 * m));
  CHECK(weights("precision=fp8,fp8_params=1") == doctest::Approx(2 * (n - m) + 2 * m));
  CHECK(weights("precision=mxfp8") == doctest::Approx(2 * n + 2 * 1.03125 * m));
  CHECK(weights("precision=mxfp8,fp8_params=1") == doctest::Approx(2 * (n - m) + 2 * 1.03125 * m));
  CHECK(weights("precision=nvfp4") == doctest::Approx(2 * n + 2 * 0.5625 * m));
  // Of shards, copies are made where they are gathered.
  CHECK(weights("precision=fp8,zero=3") == doctest::Approx(2 * n / 8));
  CHECK(states("torchtitan", "precision=fp8-rowwise").weights ==
        states("torchtitan", "precision=bf16").weights);
}
