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
