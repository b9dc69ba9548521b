#include "operators/attention.h"

#include <doctest/doctest.h>

using namespace foretrain;

TEST_CASE("latent attention whose values are as wide as its keys does the work of attention") {
  for (const PassKind pass : {PassKind::kForward, PassKind::kBackward}) {
    Operator latent = latent_attention({.batch = 2, .heads = 16, .seq = 4096, .qk_dim = 128, .v_dim = 128});
    Operator plain = attention({.batch = 2, .heads = 16, .kv_heads = 16, .seq = 4096, .head_dim = 128});
    latent.pass = plain.pass = pass;
    CHECK(flops(latent).value == flops(plain).value);
    CHECK(useful_share(latent) == doctest::Approx(useful_share(plain)));
    CHECK(bytes(latent) == bytes(plain));
    CHECK(working_bytes(latent) == working_bytes(plain));
  }
}

TEST_CASE("narrow values save work and bytes of values alone") {
  // DeepSeek-V2's heads, half of the square of scores: forward 192 + 128 multiplications and additions a score;
  // backward those of the keys' width three times (scores, queries, keys), of the values' twice.
  Operator op = latent_attention({.batch = 1, .heads = 1, .seq = 1024, .qk_dim = 192, .v_dim = 128});
  CHECK(flops(op).value == 1024.0 * 1024 * (192 + 128));
  CHECK(bytes(op) == Bytes(2.0 * 1024 * (2 * 192 + 2 * 128)));
  CHECK(made_bytes(op) == Bytes(2.0 * 1024 * 128));
  op.pass = PassKind::kBackward;
  CHECK(flops(op).value == 1024.0 * 1024 * (3 * 192 + 2 * 128));
  CHECK(useful_share(op) == doctest::Approx(2.0 * (192 + 128) / (3 * 192 + 2 * 128)));
}

TEST_CASE("attention with a span makes the scores of causal sequences so long") {
  const AttentionSizes sizes{.batch = 2, .heads = 16, .kv_heads = 4, .seq = 8192, .head_dim = 128};
  AttentionSizes parts = sizes, shorter = sizes;
  parts.causal = 1024;
  shorter.batch = 16;
  shorter.seq = 1024;
  for (const PassKind pass : {PassKind::kForward, PassKind::kBackward}) {
    Operator with_span = attention(parts), whole = attention(shorter), causal = attention(sizes);
    with_span.pass = whole.pass = causal.pass = pass;
    CHECK(has_span(with_span));
    CHECK_FALSE(has_span(causal));
    CHECK(flops(with_span).value == flops(whole).value);
    CHECK(flops(with_span).value == flops(causal).value / 8);
    CHECK(bytes(with_span) == bytes(causal));  // of as many tokens
    CHECK(working_bytes(with_span) == working_bytes(causal));
    CHECK(whole_sequences(with_span).op == whole);
    CHECK(whole_sequences(with_span).share == 1);
  }
}

TEST_CASE("sequences that do not go into the tokens count by their share") {
  // Of 8192 tokens, one sequence of 6000 and a third; a quarter of the queries of a sequence of 131072.
  AttentionSizes sizes{.batch = 1, .heads = 8, .kv_heads = 8, .seq = 8192, .head_dim = 128, .causal = 6000};
  CHECK(whole_sequences(attention(sizes)).op.as<AttentionSizes>().batch == 1);
  CHECK(whole_sequences(attention(sizes)).share == doctest::Approx(8192.0 / 6000));
  sizes.seq = 32768;
  sizes.causal = 131072;
  CHECK(whole_sequences(attention(sizes)).op.as<AttentionSizes>().seq == 131072);
  CHECK(whole_sequences(attention(sizes)).share == 0.25);
  const Operator latent =
      latent_attention({.batch = 1, .heads = 8, .seq = 8192, .qk_dim = 192, .v_dim = 128, .causal = 2048});
  CHECK(flops(latent).value ==
        flops(latent_attention({.batch = 4, .heads = 8, .seq = 2048, .qk_dim = 192, .v_dim = 128})).value);
  CHECK(whole_sequences(latent).op.as<LatentAttentionSizes>().batch == 4);
  CHECK(whole_sequences(latent).op.as<LatentAttentionSizes>().causal == 0);
}

TEST_CASE("whose kernel runs follows from the part") {
  Gpu ampere, hopper, blackwell;
  hopper.architecture = Architecture::kHopper;
  blackwell.architecture = Architecture::kBlackwell;
  for (const Impl impl : {Impl::kCudnn, Impl::kFlash3}) {
    CHECK(attention_kernel(impl, ampere) == Impl::kFlash);
    CHECK(attention_kernel(impl, hopper) == Impl::kSdpa);
  }
  CHECK(attention_kernel(Impl::kFlashFirst, ampere) == Impl::kFlash);
  CHECK(attention_kernel(Impl::kFlashFirst, hopper) == Impl::kFlash);
  CHECK(attention_kernel(Impl::kFlashFirst, blackwell) == Impl::kSdpa);
  for (const Impl impl : {Impl::kFlash, Impl::kSdpa, Impl::kTriton})
    CHECK(attention_kernel(impl, blackwell) == impl);
}
