#include "cost/terms.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace foretrain;

namespace {

Gpu gpu() {
  Gpu g;
  g.rates[static_cast<std::size_t>(Dtype::kBf16)] = teraflops(100);
  g.hbm = gigabytes_per_second(1000);
  g.sms = 100;
  return g;
}

Operator linear(std::int64_t m, std::int64_t k, std::int64_t n, PassKind pass) {
  Operator op;
  op.kind = OperatorKind::kLinear;
  op.pass = pass;
  op.sizes = {m, k, n};
  return op;
}

}  // namespace

TEST_CASE("A last wave that is not full costs as much as a full one") {
  // 128 x 128 tiles: 1280 x 1280 is 100 of them, one wave on 100 SMs; 1281 rows need a second.
  const double one = physical_terms(linear(1280, 512, 1280, PassKind::kForward), gpu()).seconds[3];
  const double two = physical_terms(linear(1281, 512, 1280, PassKind::kForward), gpu()).seconds[3];
  CHECK(one == doctest::Approx(100 * 2.0 * 128 * 128 * 512 / 100e12));
  CHECK(two == doctest::Approx(2 * one));
}

TEST_CASE("The whole backward of a product is the sum of its two products, term by term") {
  const Terms whole = physical_terms(linear(3000, 700, 5000, PassKind::kBackward), gpu());
  const Terms input = physical_terms(linear(3000, 700, 5000, PassKind::kInput), gpu());
  const Terms weight = physical_terms(linear(3000, 700, 5000, PassKind::kWeight), gpu());
  REQUIRE(whole.count == input.count);
  for (std::size_t i = 1; i < whole.count; ++i)
    CHECK(whole.seconds[i] == doctest::Approx(input.seconds[i] + weight.seconds[i]));
}

TEST_CASE("Attention pays for the head_dim that kernels are built for") {
  CHECK(padded_head_dim(80) == 96);
  CHECK(padded_head_dim(128) == 128);
  CHECK(padded_head_dim(129) == 160);
  CHECK(padded_head_dim(512) == 512);
}

TEST_CASE("Terms and features have one count a kind and pass, and none is negative or endless") {
  for (int kind = 0; kind < kOperatorKindCount; ++kind)
    for (const PassKind pass : {PassKind::kForward, PassKind::kBackward, PassKind::kStep}) {
      Operator op;
      op.kind = static_cast<OperatorKind>(kind);
      const bool of_optimizer = is_optimizer(op.kind);
      if (of_optimizer != (pass == PassKind::kStep)) continue;
      op.pass = pass;
      std::size_t terms = 0, features = 0;
      for (const std::int64_t size : {1, 7, 128, 100000}) {
        op.sizes = {size, size, size, size, size, of_optimizer ? 4 : 0};
        const Terms t = physical_terms(op, gpu());
        const Features f = residual_features(op, gpu());
        REQUIRE(t.count <= kMaxTerms);
        REQUIRE(f.count <= kMaxFeatures);
        if (terms > 0) CHECK((t.count == terms && f.count == features));
        terms = t.count, features = f.count;
        for (std::size_t i = 0; i < t.count; ++i) CHECK((std::isfinite(t.seconds[i]) && t.seconds[i] >= 0));
        for (const float v : f.view()) CHECK(std::isfinite(v));
      }
    }
}
