#include "validate/row_state.h"

#include <doctest/doctest.h>

using namespace foretrain;

namespace {

// 16 GPUs of two nodes, tp 4, pp 2, dp 2: eight micro-batches of 4096 tokens, so nine slots.
MeasuredRow pipelined(double step) {
  MeasuredRow row;
  row.id = "row";
  row.source = "lab";
  row.gpus = 16;
  row.gpus_per_node = 8;
  row.tp = 4, row.pp = 2, row.dp = 2;
  row.micro_batch = 1;
  row.global_batch = 16;
  row.seq = 4096;
  row.step = Seconds(step);
  return row;
}

Gpu petaflops() {
  Gpu gpu;
  gpu.rates[static_cast<std::size_t>(Dtype::kBf16)] = FlopsPerSecond(1e15);
  return gpu;
}

// So many parameters in its embedding and next to none elsewhere.
Model of_parameters(std::int64_t count) {
  Model model;
  model.hidden = 1024;
  model.vocab = count / 1024;
  model.tied = true;
  return model;
}

const Unsteady kState = {.gpus = {512}, .slot = Seconds(0.5), .times = 4, .of_peak = 0.4};

}  // namespace

TEST_CASE("a slot of half a second, four times as long as at 40 % of the peak, is a broken state") {
  // 6 x 8.2e9 x 4096 / 8 ranks / 0.4e15 = 63 ms a slot at 40 %.
  const Model model = of_parameters(8'200'000'000);
  CHECK_FALSE(is_broken(pipelined(9 * 0.45), kState, model, petaflops()));  // short
  CHECK(is_broken(pipelined(9 * 0.55), kState, model, petaflops()));
  CHECK_FALSE(
      is_broken(pipelined(9 * 0.55), kState, of_parameters(82'000'000'000), petaflops()));  // 0.63 s at 40 %
  MeasuredRow inside = pipelined(9 * 0.55);
  inside.gpus_per_node = 16;
  CHECK_FALSE(is_broken(inside, kState, model, petaflops()));
  MeasuredRow one_stage = pipelined(9 * 0.55);
  one_stage.pp = 1, one_stage.dp = 4;
  CHECK_FALSE(is_broken(one_stage, kState, model, petaflops()));
}

TEST_CASE("runs on a count that is known to be broken are, however fast; failures are not") {
  MeasuredRow row = pipelined(0.1);
  row.gpus = 512, row.dp = 64, row.global_batch = 512;
  CHECK(is_broken(row, kState, of_parameters(1'000'000'000), petaflops()));
  row.gpus = 256, row.dp = 32;
  CHECK_FALSE(is_broken(row, kState, of_parameters(1'000'000'000), petaflops()));
  row.gpus = 512, row.dp = 64;
  row.step.reset();
  CHECK_FALSE(is_broken(row, kState, of_parameters(1'000'000'000), petaflops()));
}

TEST_CASE("composed rows of one profiled part share a group") {
  MeasuredRow row = pipelined(1);
  row.hidden = 2048;
  CHECK(group_of(row) == "row");
  row.notes = Notes("nodes=single");
  CHECK(group_of(row) == "lab h2048 tp4 mb1");
  row.group = "stated";
  CHECK(group_of(row) == "stated");
}
