#include "job/packing.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "operators/attention.h"
#include "spec/catalog.h"

using namespace foretrain;

namespace {

// Tiles with at least one score, one by one.
double counted(std::int64_t length, std::int64_t window) {
  double tiles = 0;
  for (std::int64_t q = 0; q < length; q += kAttentionTile)
    for (std::int64_t k = 0; k < length; k += kAttentionTile) {
      const std::int64_t last_q = std::min(q + kAttentionTile, length) - 1;
      const std::int64_t last_k = std::min(k + kAttentionTile, length) - 1;
      const bool below = k <= last_q;                          // some key is not after some query
      const bool inside = window == 0 || last_k > q - window;  // and some is not too long before one
      tiles += below && inside ? 1 : 0;
    }
  return tiles;
}

Documents of(std::vector<std::int64_t> lengths) { return {0, std::move(lengths)}; }

std::int64_t span(const Documents& documents, std::int64_t seq, double imbalance = 1) {
  const Model model = Catalog().model("llama-2-7b").value();
  return attention_spans(packing_of(model, documents, seq), imbalance, seq)[0];
}

}  // namespace

TEST_CASE("pairs of queries and keys, counted") {
  for (const std::int64_t length : {1, 5, 128, 300})
    for (const std::int64_t window : {0, 1, 4, 128, 1000}) {
      double pairs = 0;
      for (std::int64_t q = 0; q < length; ++q)
        for (std::int64_t k = 0; k <= q; ++k) pairs += window == 0 || q - k < window;
      CHECK(attention_pairs(length, window) == pairs);
    }
}

TEST_CASE("tiles of documents and windows are those that have a score") {
  for (const std::int64_t length : {1, 127, 128, 129, 1000, 4096})
    for (const std::int64_t window : {0, 1, 2, 128, 129, 130, 1024, 5000})
      CHECK(attention_tiles(length, window) == counted(length, window));
}

TEST_CASE("a window of 128 costs two tiles a row, not one") {
  // 32 rows of tiles, of which the first has one.
  CHECK(attention_tiles(4096, 128) == 63);
  CHECK(attention_tiles(4096, 0) == 32 * 33 / 2);
  // 63 tiles of 128 x 128 over 4096 queries are 252 keys each; a causal sequence of 376 has (376 + 128) / 2.
  CHECK(window_span(128, 4096) == 376);
  CHECK(window_span(4096, 4096) == 4096);
  CHECK(window_span(0, 4096) == 4096);
}

TEST_CASE("equal documents of whole tiles span themselves") {
  CHECK(span(of({4096, 4096}), 8192) == 4096);
  CHECK(span(of(std::vector<std::int64_t>(8, 1024)), 8192) == 1024);
  CHECK(span(of({8192}), 8192) == 0);  // one document is a sequence as any other
}

TEST_CASE("unequal documents span the mean of their squares over their mean") {
  // Without the diagonal's halves of tiles: (6144^2 + 2048^2) / 8192 = 5120.
  CHECK(span(of({6144, 2048}), 8192) == 5120);
}

TEST_CASE("shorter documents never span more, down to a tile") {
  for (std::int64_t length = 32768; length > 128; length /= 2)
    CHECK(
        span(of(std::vector<std::int64_t>(static_cast<std::size_t>(65536 / length), length)), 65536) >=
        span(of(std::vector<std::int64_t>(static_cast<std::size_t>(2 * 65536 / length), length / 2)), 65536));
  // Half of a tile is worked off whole, but two of these are no more than one sequence of both.
  CHECK(span(of({64, 64}), 128) == 128);
}

TEST_CASE("random documents of a mean span twice as much as equal ones, and at most the sequence") {
  // Of exponential lengths the mean square is twice the square of the mean: 2 m^2 / m = 2 m; short of half a
  // tile more in each for its last rows.
  const double random = static_cast<double>(span({2048, {}}, 1 << 20));
  CHECK(random == doctest::Approx(2 * 2048).epsilon(0.03));
  CHECK(span({1e9, {}}, 8192) == 8192);
  CHECK(span({512, {}}, 8192) < span({1024, {}}, 8192));
}

TEST_CASE("ranks differ by the documents that they happen to get") {
  const Model model = Catalog().model("llama-2-7b").value();
  const Packing packing = packing_of(model, {512, {}}, 8192);
  CHECK(packing.random == doctest::Approx(16).epsilon(0.02));
  // 64 documents a rank and step deviate by an eighth; the largest of 64 ranks by sqrt(2 ln 64) of that.
  CHECK(usual_document_imbalance(packing, 4, 64) ==
        doctest::Approx(1 + std::sqrt(2 * std::log(64.0)) / 8).epsilon(0.01));
  CHECK(usual_document_imbalance(packing, 4, 1) == 1);
  CHECK(usual_document_imbalance(packing_of(model, of({4096, 4096}), 8192), 4, 64) == 1);
  // Twice the keys: 2 (2 x (4096 + 128) / 2) - 128.
  CHECK(span(of({4096, 4096}), 65536, 2) == 2 * (4096 + 128) - 128);
}

TEST_CASE("windows of a model keep their places") {
  Model model = Catalog().model("llama-2-7b").value();
  Block windowed = model.blocks.front().block;
  windowed.attention.window = 256;
  model.blocks.push_back({1, windowed});
  CHECK(place_of(model, 0) == 0);
  CHECK(place_of(model, 256) == 1);
  CHECK(place_of(model, 7) >= 2);
  const auto spans = attention_spans(packing_of(model, of({4096, 4096}), 8192), 1, 8192);
  CHECK(spans[0] == 4096);
  CHECK(spans[1] < 1024);
  CHECK(spans[2] == 0);
}
