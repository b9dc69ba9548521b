#include "operators/operator_text.h"

#include <doctest/doctest.h>

#include "base/text.h"
#include "operators/optimizer.h"
#include "operators/product.h"

using namespace foretrain;

namespace {

std::string error_of(std::string_view kind, std::string_view impl, std::string_view pass,
                     std::string_view sizes, std::string_view dtype = "bf16") {
  const auto op = parse_operator(kind, impl, pass, dtype, sizes);
  return op ? "" : op.error().message;
}

}  // namespace

TEST_CASE("sizes are read in any order and written in their own") {
  const auto op = parse_operator("linear", "aten", "dgrad", "bf16", "n=3  k=2 m=1");
  REQUIRE(op);
  CHECK(op->kind == OperatorKind::kLinear);
  CHECK(op->pass == PassKind::kInput);
  CHECK(op->as<LinearSizes>() == LinearSizes{.m = 1, .k = 2, .n = 3});
  CHECK(sizes_text(*op) == "m=1 k=2 n=3");
}

TEST_CASE("every kind reads back what it writes") {
  for (int k = 0; k < kOperatorKindCount; ++k) {
    const auto kind = static_cast<OperatorKind>(k);
    const bool optimizer = is_optimizer(kind);
    std::string sizes;
    for (const std::string_view word : size_names(kind))
      sizes += std::string(sizes.empty() ? "" : " ") + std::string(word) +
               (word == "causal"   ? "=0"
                : word == "copies" ? "=2"
                                   : "=8");
    CAPTURE(name(kind));
    const auto op = parse_operator(name(kind), is_attention(kind) ? "flash" : "fused",
                                   optimizer                           ? "step"
                                   : kind == OperatorKind::kAccumulate ? "wgrad"
                                   : is_of_formats(kind)               ? "fwd"
                                                                       : "bwd",
                                   is_of_formats(kind) ? "fp8" : "fp16", sizes);
    REQUIRE(op);
    CHECK(sizes_text(*op) == sizes);
    CHECK(parse_operator(name(kind), impl_text(*op), name(op->pass), name(op->dtype), sizes_text(*op)) ==
          *op);
  }
}

TEST_CASE("attention is causal with as many heads of keys unless said otherwise") {
  const auto op = parse_operator("attention", "sdpa", "fwd", "bf16", "batch=2 heads=8 seq=4096 head_dim=128");
  REQUIRE(op);
  CHECK(sizes_text(*op) == "batch=2 heads=8 kv_heads=8 seq=4096 head_dim=128 causal=1");
  CHECK(error_of("attention", "sdpa", "fwd", "batch=2 heads=8 seq=4096 head_dim=128 kv_heads=3") ==
        "found heads=8 kv_heads=3, expected kv_heads to divide heads");
}

TEST_CASE("words that name more than one thing") {
  const auto loss = parse_operator("cross_entropy", "fp32", "bwd", "bf16", "tokens=7 vocab=9");
  REQUIRE(loss);
  CHECK(loss->impl == Impl::kEager);
  const auto gelu = parse_operator("gelu_tanh", "eager", "fwd", "bf16", "tokens=7 width=9");
  REQUIRE(gelu);
  CHECK(gelu->kind == OperatorKind::kGelu);
  CHECK(gelu->impl == Impl::kTanh);  // run eagerly, the library's one kernel
  CHECK(parse_operator("gelu_tanh", "fused", "fwd", "bf16", "tokens=7 width=9")->impl == Impl::kFused);
  CHECK(parse_operator("gelu", "eager", "fwd", "bf16", "tokens=7 width=9")->impl == Impl::kEager);

  // gradient, weight, moment, master: the fused kernel moves 4 + 4 x 4 + 2 x 4 bytes a parameter with fp32
  // states, 2 + 4 x 2 + 2 x 2 where all are bf16.
  const auto mixed = parse_operator("adamw", "fused", "step", "bf16", "parameters=10 tensors=2");
  REQUIRE(mixed);
  CHECK(mixed->as<StateSizes>() == StateSizes{10, 2, kMixedStates});
  CHECK(bytes(*mixed).value == 10 * 28);
  const auto narrow = parse_operator("adamw", "fused-bf16", "step", "bf16", "parameters=10 tensors=2");
  REQUIRE(narrow);
  CHECK(narrow->as<StateSizes>() == StateSizes{10, 2, kNarrowStates});
  CHECK(bytes(*narrow).value == 10 * 14);
  // Gradients that are cast are kept in half precision: 2 bytes read, 4 written.
  const auto cast = parse_operator("cast_grads", "aten", "step", "bf16", "parameters=10 tensors=2");
  REQUIRE(cast);
  CHECK(bytes(*cast).value == 10 * 6);
  CHECK(impl_text(*mixed) == "fused");
  CHECK(impl_text(*narrow) == "fused-bf16");
}

TEST_CASE("a masked fill reads scores and a byte of mask and writes scores") {
  const auto op = parse_operator("masked_fill", "aten", "fwd", "fp16", "tokens=3 width=5");
  REQUIRE(op);
  CHECK(bytes(*op).value == 15 * 5);
}

TEST_CASE("what a kind does not have is refused") {
  CHECK(error_of("linaer", "aten", "fwd", "m=1 k=1 n=1") == "unknown word 'linaer'; did you mean 'linear'?");
  CHECK(error_of("linear", "flash", "fwd", "m=1 k=1 n=1") == "linear has no implementation flash");
  CHECK(error_of("attention", "aten", "fwd", "m=1") == "attention has no implementation aten");
  CHECK(error_of("linear", "aten", "step", "m=1 k=1 n=1") == "linear has no pass step");
  CHECK(error_of("adamw", "fused", "fwd", "parameters=1 tensors=1") == "adamw has no pass fwd");
  CHECK(error_of("gelu", "aten", "wgrad", "tokens=1 width=1") == "gelu has no pass wgrad");
  CHECK(error_of("gelu", "fused-bf16", "fwd", "tokens=1 width=1") == "gelu has no implementation fused-bf16");
  CHECK(error_of("layernorm", "fp32-scale", "fwd", "tokens=1 width=1") ==
        "layernorm has no implementation fp32-scale");
  // Gradients of zeros are a way to time a backward: there is no such forward.
  CHECK(error_of("linear", "zero-grad", "fwd", "m=1 k=1 n=1") == "linear has no pass fwd");
  CHECK(parse_operator("linear", "zero-grad", "bwd", "fp16", "m=1 k=1 n=1").has_value());
  CHECK(error_of("gelu", "aten", "fwd", "tokens=1 width=1", "fp17").starts_with("unknown word 'fp17'"));
}

TEST_CASE("sizes are whole numbers from 1 to 10^15, each once, none missing") {
  CHECK(error_of("linear", "aten", "fwd", "m=1 k=2") == "linear lacks its size n: found 'm=1 k=2'");
  CHECK(error_of("linear", "aten", "fwd", "") == "linear lacks its size m: found ''");
  CHECK(error_of("linear", "aten", "fwd", "m=1 k=2 n=3 m=1") == "found 'm' twice, expected each size once");
  CHECK(error_of("linear", "aten", "fwd", "m=1 k=2 n3") == "found 'n3', expected sizes such as m=4096");
  CHECK(error_of("linear", "aten", "fwd", "m=1 k=2 q=3").starts_with("linear has no size 'q'"));
  for (const char* bad : {"0", "-4", "1.5", "1e3", "1000000000000001", ""}) {
    CAPTURE(bad);
    CHECK(error_of("linear", "aten", "fwd", std::string("k=2 n=3 m=") + bad) ==
          std::string("found m=") + bad + ", expected a whole number from 1 to 10^15");
  }
}

TEST_CASE("an error points at the size that is wrong") {
  Operator op;
  const auto read = read_sizes(op, "m=1 k=0 n=3", Position{"a.csv", 3, 20});
  REQUIRE(!read);
  CHECK(read.error().text() == "a.csv:3:24: error: found k=0, expected a whole number from 1 to 10^15");
}
