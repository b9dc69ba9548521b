#include "operators/terms.h"

#include <doctest/doctest.h>

#include <cmath>

#include "operators/attention.h"
#include "operators/product.h"

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
  return foretrain::linear({.m = m, .k = k, .n = n}, {.pass = pass});
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

TEST_CASE("One block of queries sees all keys, on one SM") {
  // Two heads of 128 queries: half of the work of all, but a hundred times as long on one SM as on all of them.
  const Operator op =
      attention({.batch = 1, .heads = 2, .kv_heads = 2, .seq = 128, .head_dim = 128, .causal = 0});
  const Terms t = physical_terms(op, gpu());
  CHECK(t.seconds[8] == doctest::Approx(flops(op).value / 2 / (100e12 / 100)));
}

TEST_CASE("Attention that reads its mask has kernels for whole rows of 16 bytes, none for other heads") {
  const auto terms = [&](std::int64_t seq, std::int64_t head_dim) {
    return physical_terms(
        attention({.batch = 1, .heads = 2, .kv_heads = 2, .seq = seq, .head_dim = head_dim, .causal = 0},
                  {.impl = Impl::kMasked}),
        gpu());
  };
  // Tiled, one tile an SM, by the best kernel: 4 s^2 d FLOPs a head, heads of 192 as long as heads of 256.
  CHECK(terms(1024, 192).seconds[2] == doctest::Approx(2 * 4 * 1024.0 * 1024 * 256 / 100e12));
  CHECK(terms(1024, 192).seconds[8] == 0);
  // By the other one, which pads nothing.
  CHECK(terms(1023, 192).seconds[2] == 0);
  CHECK(terms(1023, 192).seconds[8] == doctest::Approx(2 * 4 * 1023.0 * 1023 * 192 / 100e12));
  // Scores are written out: 128 bytes each at 1 TB/s.
  CHECK(terms(1024, 100).seconds[2] == 0);
  CHECK(terms(1024, 100).seconds[8] == 0);
  CHECK(terms(1024, 100).seconds[10] == doctest::Approx(2 * 1024.0 * 1024 * 128 / 1e12));
}

TEST_CASE("Gradients of shared keys are made for each head of queries") {
  AttentionSizes sizes = {.batch = 1, .heads = 8, .kv_heads = 8, .seq = 1000, .head_dim = 64};
  Operator op = attention(sizes, {.pass = PassKind::kBackward});
  CHECK(physical_terms(op, gpu()).seconds[10] == 0);
  sizes.kv_heads = 2;
  op.set(sizes);
  CHECK(physical_terms(op, gpu()).seconds[10] == doctest::Approx(8 * 1000 * 64 * 2 / 1e12));
  op.pass = PassKind::kForward;
  CHECK(physical_terms(op, gpu()).seconds[10] == 0);
}

TEST_CASE("Terms and features have one count a kind and pass, and none is negative or endless") {
  for (int kind = 0; kind < kOperatorKindCount; ++kind)
    for (const PassKind pass : {PassKind::kForward, PassKind::kBackward, PassKind::kStep}) {
      Operator op;
      op.kind = static_cast<OperatorKind>(kind);
      const bool of_optimizer = is_optimizer(op.kind);
      if (of_optimizer != (pass == PassKind::kStep)) continue;
      op.pass = pass;
      for (std::size_t impl = 0; impl < kImplNames.size(); ++impl) {
        op.impl = static_cast<Impl>(impl);
        if (!has_impl(op.kind, op.impl)) continue;
        std::size_t terms = 0, features = 0;
        for (const std::int64_t size : {1, 7, 128, 100000}) {
          op.set_flat({size, size, size, size, size, of_optimizer ? 4 : 0});
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
}

TEST_CASE("A grouped product is a batch of products, and of one expert a linear") {
  for (const PassKind pass : {PassKind::kForward, PassKind::kInput, PassKind::kWeight, PassKind::kBackward}) {
    const Operator plain = linear(3000, 704, 5000, pass);
    Operator one = grouped_product({.experts = 1, .m = 3000, .k = 704, .n = 5000}, {.pass = pass});
    const Terms expected = physical_terms(plain, gpu()), found = physical_terms(one, gpu());
    REQUIRE(found.count == expected.count);
    for (std::size_t i = 0; i < found.count; ++i) CHECK(found.seconds[i] == expected.seconds[i]);
    one.impl = Impl::kEager;  // and so is a loop over it
    for (std::size_t i = 0; i < found.count; ++i)
      CHECK(physical_terms(one, gpu()).seconds[i] == expected.seconds[i]);
  }
  // Weight gradients of 4 experts: 5 x 5 tiles of 128 each are a wave of 100 SMs together, and a loop four.
  Operator op = grouped_product({.experts = 4, .m = 4000, .k = 640, .n = 640}, {.pass = PassKind::kWeight});
  const double wave = 100 * 2.0 * 128 * 128 * 1000 / 100e12;
  CHECK(physical_terms(op, gpu()).seconds[3] == doctest::Approx(wave));
  op.impl = Impl::kEager;
  CHECK(physical_terms(op, gpu()).seconds[3] == doctest::Approx(4 * wave));
  // Forward, rows of 640 in the mean are 5.5 tiles: a second wave.
  op = grouped_product({.experts = 4, .m = 2560, .k = 1000, .n = 640});
  CHECK(physical_terms(op, gpu()).seconds[3] == doctest::Approx(2 * wave));
}

TEST_CASE("Features of a grouped product tell its experts, its rows an expert and both sides' alignment") {
  const auto features = [](const GroupedSizes& sizes) {
    return residual_features(grouped_product(sizes), gpu());
  };
  const Features base = features({.experts = 8, .m = 8192, .k = 1024, .n = 1024});
  for (const GroupedSizes& other : {GroupedSizes{.experts = 16, .m = 8192, .k = 1024, .n = 1024},
                                    {.experts = 8, .m = 16384, .k = 1024, .n = 1024},
                                    {.experts = 8, .m = 8192, .k = 1026, .n = 1024},
                                    {.experts = 8, .m = 8192, .k = 1024, .n = 1026}}) {
    const Features changed = features(other);
    double distance = 0;  // as a smooth residual sees it
    for (std::size_t i = 0; i < base.count; ++i)
      distance += std::abs((base.values[i] - changed.values[i]) * base.scales[i]);
    CHECK(distance > 0.1);
  }
}
