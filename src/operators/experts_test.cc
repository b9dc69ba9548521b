// What operators of mixtures of experts multiply and move, worked out by hand.
#include <doctest/doctest.h>

#include "operators/operator_text.h"

using namespace foretrain;

namespace {

Operator read(std::string_view kind, std::string_view impl, std::string_view pass, std::string_view sizes) {
  const auto op = parse_operator(kind, impl, pass, "bf16", sizes);
  REQUIRE_MESSAGE(op.has_value(), (op ? "" : op.error().message));
  return *op;
}

std::string error_of(std::string_view kind, std::string_view impl, std::string_view pass,
                     std::string_view sizes) {
  const auto op = parse_operator(kind, impl, pass, "bf16", sizes);
  return op ? "" : op.error().message;
}

}  // namespace

TEST_CASE("a grouped product multiplies its rows once, and reads every expert's weights") {
  // 100 rows of 30 through one of 4 matrices of 30 x 50 each.
  const auto of = [](std::string_view impl, std::string_view pass) {
    return read("grouped_product", impl, pass, "experts=4 m=100 k=30 n=50");
  };
  CHECK(is_product(OperatorKind::kGroupedProduct));
  for (const char* pass : {"fwd", "dgrad", "wgrad"}) {
    CAPTURE(pass);
    CHECK(flops(of("aten", pass)).value == 2 * 100 * 30 * 50);
    CHECK(bytes(of("aten", pass)).value == 2 * (100 * 30 + 100 * 50 + 4 * 30 * 50));
    CHECK(of("aten", pass).launches == 2);  // where experts begin, and the product
    CHECK(of("fused", pass).launches == 1);
    CHECK(of("eager", pass).launches == 4);  // a product an expert
  }
  CHECK(flops(of("aten", "bwd")).value == 4 * 100 * 30 * 50);
  CHECK(bytes(of("eager", "bwd")).value == 2 * bytes(of("aten", "fwd")).value);
  CHECK(of("aten", "bwd").launches == 4);
  CHECK(of("eager", "bwd").launches == 8);
  // One expert's rows, all of them, are a linear.
  const Operator one = read("grouped_product", "aten", "dgrad", "experts=1 m=100 k=30 n=50");
  const Operator linear = read("linear", "aten", "dgrad", "m=100 k=30 n=50");
  CHECK(bytes(one) == bytes(linear));
  CHECK(flops(one) == flops(linear));
  // k and n are the sides along which memory runs.
  CHECK(row_loads(read("grouped_product", "aten", "fwd", "experts=3 m=7 k=16 n=24")) == 2);
  CHECK(row_loads(read("grouped_product", "aten", "fwd", "experts=3 m=7 k=16 n=25")) == 0);
}

TEST_CASE("rows go to experts and come back: each tensor once a kernel") {
  // 10 tokens of 6 elements with 3 rows each: 60 elements a token's tensor, 180 a tensor of rows.
  const auto moved = [](std::string_view kind, std::string_view impl, std::string_view pass) {
    return bytes(read(kind, impl, pass, "tokens=10 width=6 top_k=3")).value / 2;
  };
  CHECK(moved("permute", "fused", "fwd") == 60 + 180);
  CHECK(moved("permute", "fused", "bwd") == 180 + 60);
  CHECK(moved("unpermute", "fused", "fwd") == 180 + 60);
  CHECK(moved("unpermute", "fused", "bwd") == 60 + 180);
  // Gathered, and rows of nobody cleared; backward a copy that is cleared, zeros, rows added to them.
  // By index: gathered, and back zeros and ten accesses for each element that is added.
  CHECK(moved("permute", "atomic", "fwd") == 60 + 180);
  CHECK(moved("permute", "atomic", "bwd") == 60 + 10 * 180);
  CHECK(moved("unpermute", "atomic", "fwd") == 60 + 10 * 180);
  CHECK(moved("unpermute", "atomic", "bwd") == 60 + 180);
  CHECK(moved("permute", "eager", "fwd") == (60 + 180) + (180 + 180));
  CHECK(moved("permute", "eager", "bwd") == (180 + 180) + (180 + 180) + 60 + (180 + 60 + 60));
  // Weighed, gathered, summed; backward spread over a token's rows, put in their order into zeros, times rows
  // with their sum, and times weights.
  CHECK(moved("unpermute", "eager", "fwd") == (180 + 180) + (180 + 180) + (180 + 60));
  CHECK(moved("unpermute", "eager", "bwd") ==
        (60 + 180) + 180 + (180 + 180 + 180) + (180 + 180 + 180) + (180 + 180) + 180);
  // In fp32, which counts twice: then in half precision.
  CHECK(moved("unpermute", "fp32-scale", "fwd") == (180 + 360) + (360 + 360) + (360 + 120) + (120 + 60));
  CHECK(moved("unpermute", "fp32-scale", "bwd") == (60 + 120) + (120 + 360) + 360 + (360 + 360 + 360) +
                                                       (360 + 180 + 360) + (360 + 360) + (360 + 180) + 360);
  CHECK(read("permute", "eager", "bwd", "tokens=10 width=6 top_k=3").launches == 16);
  CHECK(read("unpermute", "eager", "bwd", "tokens=10 width=6 top_k=3").launches == 18);
  CHECK(read("unpermute", "fp32-scale", "bwd", "tokens=10 width=6 top_k=3").launches == 20);
  CHECK(read("unpermute", "fused", "bwd", "tokens=10 width=6 top_k=3").launches == 1);
  // Rows cleared by a mask, and rows times a weight each, pass an element at a time.
  CHECK(scalar_elements(read("unpermute", "eager", "fwd", "tokens=10 width=6 top_k=3")) == 180);
  CHECK(scalar_elements(read("permute", "eager", "fwd", "tokens=10 width=6 top_k=3")) == 180);
  CHECK(scalar_elements(read("permute", "fused", "fwd", "tokens=10 width=6 top_k=3")) == 0);
}

TEST_CASE("rows are cleared in a copy, and a gate on halves of one tensor joins their gradients") {
  const auto of = [](std::string_view kind, std::string_view impl, std::string_view pass) {
    return read(kind, impl, pass, "tokens=10 width=6");
  };
  for (const char* pass : {"fwd", "bwd"}) {
    CHECK(bytes(of("mask_rows", "eager", pass)).value == 2 * 4 * 60);
    CHECK(of("mask_rows", "eager", pass).launches == 2);
  }
  for (const char* kind : {"swiglu", "geglu"}) {
    CHECK(bytes(of(kind, "halves", "fwd")) == bytes(of(kind, "eager", "fwd")));
    CHECK(bytes(of(kind, "halves", "bwd")).value == bytes(of(kind, "eager", "bwd")).value + 2 * 4 * 60);
  }
  CHECK(error_of("gelu", "halves", "fwd", "tokens=10 width=6") == "gelu has no implementation halves");
}

TEST_CASE("a route is bytes of logits and of choices") {
  const auto moved = [](std::string_view impl, std::string_view pass) {
    return bytes(read("route", impl, pass, "tokens=10 experts=8 top_k=2")).value;
  };
  CHECK(moved("eager", "fwd") == 80 * (6 + 8 + 4) + 20 * (12 + 4 + 8 + 8 * 32 + 24));
  CHECK(moved("eager", "bwd") == 80 * (4 + 12 + 6) + 20 * (40 + 16));
  CHECK(moved("fused", "fwd") == 80 * 6 + 20 * 28);
  CHECK(moved("fused", "bwd") == 80 * 6 + 20 * 12);
  CHECK(flops(read("route", "eager", "fwd", "tokens=10 experts=8 top_k=2")).value == 0);
}

TEST_CASE("what operators of experts do not have is refused") {
  CHECK(error_of("route", "eager", "fwd", "tokens=10 experts=4 top_k=5") ==
        "found experts=4 top_k=5, expected top_k to be at most experts");
  CHECK(error_of("route", "eager", "fwd", "tokens=10 experts=4 top_k=4").empty());
  CHECK(error_of("grouped_product", "aten", "fwd", "experts=4 m=8 k=8") ==
        "grouped_product lacks its size n: found 'experts=4 m=8 k=8'");
  CHECK(error_of("grouped_product", "eager", "bwd", "experts=100001 m=8 k=8 n=8") ==
        "found experts=100001, expected at most 100000");
  CHECK(error_of("permute", "eager", "fwd", "tokens=8 width=8 top_k=0") ==
        "found top_k=0, expected a whole number from 1 to 10^15");
  CHECK(error_of("permute", "eager", "fwd", "tokens=8 width=8 topk=2") ==
        "permute has no size 'topk'; did you mean 'top_k'?");
  for (const char* kind : {"permute", "unpermute", "route"}) {
    CAPTURE(kind);
    CHECK(error_of(kind, "aten", "fwd", "") == std::string(kind) + " has no implementation aten");
    CHECK(error_of(kind, "eager", "dgrad", "") == std::string(kind) + " has no pass dgrad");
  }
  CHECK(error_of("grouped_product", "flash", "fwd", "") == "grouped_product has no implementation flash");
  CHECK(error_of("grouped_product", "zero-grad", "bwd", "") ==
        "grouped_product has no implementation zero-grad");
  CHECK(error_of("grouped_product", "aten", "step", "") == "grouped_product has no pass step");
}
