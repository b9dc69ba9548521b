#include "samples/aliases.h"

#include <doctest/doctest.h>

#include "samples/sample.h"

using namespace foretrain;

namespace {
using Words = OperatorWords;
}

TEST_CASE("a product of eight bits is a linear whose format another word may say") {
  for (const char* impl : {"fp8", "fp8-tensor", "fp8_tensor", "fp8tensor", "fp8-per-tensor", "FP8_per_tensor",
                           "scaled", "scaled_mm", "_scaled_mm", "float8", "fp8_e4m3"})
    CHECK(plain_words("linear", impl, "") == Words{"linear", "aten", "fp8"});
  for (const char* impl :
       {"fp8-row", "fp8-rowwise", "fp8_rowwise", "fp8row", "scaled_rowwise", "scaled_mm_row"})
    CHECK(plain_words("linear", impl, "") == Words{"linear", "aten", "fp8-row"});
  for (const char* kind : {"linear_fp8", "fp8_linear", "scaled_mm", "_scaled_mm", "fp8_mm", "fp8_gemm",
                           "linear_fp8_tensor", "fp8-per-tensor-linear", "float8_linear"})
    CHECK(plain_words(kind, "aten", "") == Words{"linear", "aten", "fp8"});
  for (const char* kind : {"linear_fp8_rowwise", "linear_fp8_row", "fp8_rowwise_linear", "scaled_mm_rowwise"})
    CHECK(plain_words(kind, "aten", "bf16") == Words{"linear", "aten", "fp8-row"});
  CHECK(plain_words("grouped_product_fp8", "aten", "") == Words{"grouped_product", "aten", "fp8"});
  for (const char* kind : {"float8_linear_per_row", "fp8_product_row", "scaled_linear_rowwise"})
    CHECK(plain_words(kind, "aten", "") == Words{"linear", "aten", "fp8-row"});
  for (const char* kind : {"fp8_tensor", "scaled_linear", "torch_scaled_mm", "fp8_e4m3_matmul"})
    CHECK(plain_words(kind, "aten", "") == Words{"linear", "aten", "fp8"});
  for (const char* impl : {"row", "per-row", "aten-fp8-row", "fp8_per_row_scale"})
    CHECK(plain_words("linear", impl, "") == Words{"linear", "aten", "fp8-row"});
  CHECK(plain_words("linear_fp8", "cublas", "") == Words{"linear", "aten", "fp8"});
  CHECK(plain_words("linear_fp8", "tensor", "") == Words{"linear", "aten", "fp8"});
  CHECK(plain_words("linear", "cublaslt", "") == Words{"linear", "aten", "bf16"});
  // The operator's word says less than the implementation's.
  CHECK(plain_words("scaled_mm", "rowwise", "") == Words{"linear", "aten", "fp8-row"});
}

TEST_CASE("formats have the names of PyTorch, too") {
  CHECK(plain_words("linear", "aten", "float8_e4m3fn").dtype == "fp8");
  CHECK(plain_words("linear", "aten", "fp8_rowwise").dtype == "fp8-row");
  CHECK(plain_words("linear", "aten", "bfloat16").dtype == "bf16");
}

TEST_CASE("a cast goes to eight bits where nothing says another format") {
  for (const char* kind : {"quantise", "quantize", "cast", "fp8_cast", "cast_fp8", "quantize_fp8", "to_fp8"})
    CHECK(plain_words(kind, "fused", "") == Words{"quantise", "fused", "fp8"});
  CHECK(plain_words("cast_fp8_rowwise", "compiled", "") == Words{"quantise", "fused", "fp8-row"});
  CHECK(plain_words("transpose", "aten", "").dtype == "fp8");
  CHECK(plain_words("amax", "fused", "").dtype == "bf16");
  CHECK(plain_sizes("quantise", "rows=8 columns=16 copies=2") == "tokens=8 width=16 copies=2");
}

TEST_CASE("words of the vocabulary, and those of nobody, stay") {
  CHECK(plain_words("linear", "aten", "") == Words{"linear", "aten", "bf16"});
  CHECK(plain_words("cast_weights", "aten", "") == Words{"cast_weights", "aten", "bf16"});
  CHECK(plain_words("cross_entropy", "fp32", "") == Words{"cross_entropy", "fp32", "bf16"});
  CHECK(plain_words("adamw", "fused-bf16", "") == Words{"adamw", "fused-bf16", "bf16"});
  CHECK(plain_words("linaer", "atem", "bf17") == Words{"linaer", "atem", "bf17"});
  CHECK(plain_words("gelu_tanh", "eager", "") == Words{"gelu_tanh", "eager", "bf16"});
}

TEST_CASE("a table without a column of formats is read") {
  const auto samples = parse_samples(
      "operator,impl,pass,dims,us,host_us,clock,power\n"
      "linear,fp8,fwd,m=4096 k=4096 n=4096,120,20,1500,690\n"
      "scaled_mm,rowwise,wgrad,m=4096 k=4096 n=4096,130,20,1500,690\n"
      "cast,compiled,fwd,m=4096 n=4096,20,20,1980,500\n",
      "made_up.csv");
  REQUIRE(samples);
  CHECK(operator_label((*samples)[0].op) == "linear aten fwd fp8");
  CHECK(operator_label((*samples)[1].op) == "linear aten wgrad fp8-row");
  CHECK(operator_label((*samples)[2].op) == "quantise fused fwd fp8");
}
