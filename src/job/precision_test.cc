#include "job/precision.h"

#include <doctest/doctest.h>

#include "job/run_check.h"
#include "spec/catalog.h"
#include "spec/plan_text.h"

using namespace foretrain;

namespace {

std::string refusal(const char* stack, const char* cluster, const char* plan) {
  Run run;
  run.model = Catalog().model("llama-3-8b").value();
  run.cluster = Catalog().cluster(cluster).value();
  run.stack = Catalog().stack(stack).value();
  run.plan = parse_plan(plan).value();
  run.gpus = run.global_batch = 8;
  run.seq = 2048;
  const auto checked = check_run(run);
  return checked ? "" : checked.error().message;
}

std::string recipe(const char* stack, const char* precision) {
  Plan plan;
  plan.precision = precision;
  const Stack read = Catalog().stack(stack).value();
  const Recipe* found = find_recipe(read, plan);
  return found == nullptr ? "" : found->name;
}

}  // namespace

TEST_CASE("a family's word means the first of the stack's recipes, a name itself") {
  CHECK(recipe("megatron", "fp8") == "fp8-delayed");
  CHECK(recipe("torchtitan", "fp8") == "fp8-current");
  CHECK(recipe("megatron", "fp8-current") == "fp8-current");
  CHECK(recipe("megatron", "mxfp8") == "mxfp8");
  CHECK(recipe("neox", "fp8") == "");
}

TEST_CASE("what cannot be run is refused by name") {
  CHECK(refusal("megatron", "dgx-h100", "precision=fp8") == "");
  CHECK(refusal("megatron", "dgx-b200", "precision=nvfp4,bf16_layers=1-1,fp8_params=1,zero=1") == "");
  CHECK(refusal("neox", "dgx-h100", "precision=fp8") ==
        "precision: stack 'neox' does not run 'fp8'; expected one of bf16, fp16");
  CHECK(refusal("megatron", "dgx-a100", "precision=fp8") ==
        "gpu 'a100-80gb-sxm' has no fp8 rate, which recipe fp8-delayed needs");
  CHECK(refusal("megatron", "dgx-h100", "precision=mxfp8") ==
        "gpu 'h100-80gb-sxm' has no mxfp8 rate, which recipe mxfp8 needs");
  CHECK(refusal("megatron", "dgx-h100", "fp8_params=1") ==
        "fp8_params needs a recipe with products in fewer bits, and bf16 has none");
  CHECK(refusal("megatron", "dgx-h100", "precision=fp8,bf16_layers=20-20") ==
        "bf16_layers 20-20 is more than the model's 32 layers");
}

TEST_CASE("copies of a tensor by how it is scaled, and by the GPU") {
  LowPrecision low;
  low.formats = Catalog().recipe("fp8-current").value().formats;
  CHECK(low.copies(true, true) == 2);
  CHECK(low.copies(true, false) == 1);
  low.by_rows_alone = false;
  CHECK(low.copies(true, true) == 1);
  low.formats = Catalog().recipe("mxfp8").value().formats;
  CHECK(low.copies(true, true) == 2);
}

TEST_CASE("bytes of a weight: bf16 with two copies, or the copies alone") {
  LowPrecision low;
  low.formats = Catalog().recipe("fp8-current").value().formats;
  CHECK(low.weight_bytes() == 2);  // cast where it is used
  low.keeps_weights = true;
  CHECK(low.weight_bytes() == 4);
  low.formats.params = true;
  CHECK(low.weight_bytes() == 2);
  CHECK(low.travelling_bytes() == 1);
  low.formats = Catalog().recipe("mxfp8").value().formats;
  low.formats.params = true;
  CHECK(low.weight_bytes() == doctest::Approx(2 * 1.03125));
  CHECK(low.travelling_bytes() == 2);  // in the gradients' buffer, then cast
}

TEST_CASE("a frozen base is kept in fewer bits alone where the stack loads it so") {
  const Stack nemo = Catalog().stack("nemo").value(), megatron = Catalog().stack("megatron").value();
  const auto bytes = [](const Stack& stack, const char* plan) {
    return low_precision_of(stack, parse_plan(plan).value()).weight_bytes();
  };
  CHECK(bytes(nemo, "precision=fp8,lora=16") == 1);
  CHECK(bytes(nemo, "precision=fp8") == 4);  // trained: bf16, a copy and its transpose
  CHECK(bytes(nemo, "precision=fp8,lora=16,fp8_params=0") == 4);
  CHECK(bytes(megatron, "precision=fp8,lora=16") == 4);
}
