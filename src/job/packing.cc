#include "job/packing.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "operators/attention.h"

namespace foretrain {
namespace {

constexpr auto kTile = static_cast<double>(kAttentionTile);

// Random documents stand for their quantiles.
constexpr int kQuantiles = 256;

std::vector<std::int64_t> quantiles_of(double mean, std::int64_t seq) {
  std::vector<std::int64_t> lengths;
  for (int i = 0; i < kQuantiles; ++i) {
    const double length = -mean * std::log1p(-(i + 0.5) / kQuantiles);
    lengths.push_back(std::clamp<std::int64_t>(std::llround(length), 1, seq));
  }
  return lengths;
}

// Windows in the order of the model's blocks, each once.
std::vector<std::int64_t> windows_of(const Model& model) {
  std::vector<std::int64_t> windows;
  for (const BlockRun& run : model.blocks)
    if (std::find(windows.begin(), windows.end(), run.block.attention.window) == windows.end())
      windows.push_back(run.block.attention.window);
  return windows;
}

double keys_of(double tiles, double tokens) { return tiles * kTile * kTile / tokens; }

// Never more than causal sequences in one piece have.
std::int64_t span_of(double keys, std::int64_t seq) {
  return std::clamp<std::int64_t>(std::llround(2 * keys - kTile), 1, seq);
}

}  // namespace

double attention_tiles(std::int64_t length, std::int64_t window) {
  const auto tiles = [](std::int64_t tokens) {
    return static_cast<double>((tokens + kAttentionTile - 1) / kAttentionTile);
  };
  const double rows = tiles(length);
  const double most = window == 0 ? rows : std::min(rows, tiles(window - 1) + 1);
  return most * (most + 1) / 2 + (rows - most) * most;
}

double attention_pairs(std::int64_t length, std::int64_t window) {
  const auto n = static_cast<double>(length);
  const double most = window == 0 ? n : std::min(n, static_cast<double>(window));
  return most * (most + 1) / 2 + (n - most) * most;
}

std::int64_t window_span(std::int64_t window, std::int64_t seq) {
  if (window == 0 || window >= seq) return seq;
  return span_of(keys_of(attention_tiles(seq, window), static_cast<double>(seq)), seq);
}

std::size_t place_of(const Model& model, std::int64_t window) {
  const std::vector<std::int64_t> windows = windows_of(model);
  return static_cast<std::size_t>(std::find(windows.begin(), windows.end(), window) - windows.begin());
}

Packing packing_of(const Model& model, const Documents& documents, std::int64_t seq) {
  Packing packing;
  if (!documents.stated() || documents.lengths == std::vector<std::int64_t>{seq}) return packing;
  const std::vector<std::int64_t> lengths =
      documents.mean > 0 ? quantiles_of(documents.mean, seq) : documents.lengths;
  double tokens = 0;
  for (const std::int64_t length : lengths) tokens += static_cast<double>(length);
  const std::vector<std::int64_t> windows = windows_of(model);
  for (std::size_t k = 0; k < std::min(windows.size(), kMostWindows); ++k) {
    double tiles = 0, pairs = 0;
    for (const std::int64_t length : lengths) {
      tiles += attention_tiles(length, windows[k]);
      pairs += attention_pairs(length, windows[k]);
    }
    packing.seen[k] = pairs / tokens;
    // Short of a tile, documents would have more than sequences in one piece, which are not counted so.
    const auto whole = static_cast<double>(window_span(windows[k], seq) + kAttentionTile) / 2;
    packing.keys[k] = std::min(keys_of(tiles, tokens), whole);
  }
  if (documents.mean > 0)
    packing.random = static_cast<double>(seq) * static_cast<double>(lengths.size()) / tokens;
  return packing;
}

double usual_document_imbalance(const Packing& packing, double sequences_a_rank, std::int64_t ranks) {
  if (packing.random == 0 || ranks == 1) return 1;
  return 1 + std::sqrt(2 * std::log(static_cast<double>(ranks)) / (packing.random * sequences_a_rank));
}

double useful_span_share(const Model& model, const Packing& packing, const AttentionSpans& spans,
                         std::int64_t seq, std::int64_t span) {
  const std::vector<std::int64_t> windows = windows_of(model);
  for (std::size_t k = 0; k < windows.size(); ++k) {
    const bool packed = spans[0] > 0 && k < kMostWindows;
    if (span != (packed ? spans[k] : window_span(windows[k], seq))) continue;
    const double seen =
        packed ? packing.seen[k] : attention_pairs(seq, windows[k]) / static_cast<double>(seq);
    return std::min(1.0, (2 * seen - 1) / static_cast<double>(span));
  }
  return 1;
}

AttentionSpans attention_spans(const Packing& packing, double imbalance, std::int64_t seq) {
  AttentionSpans spans{};
  for (std::size_t k = 0; k < kMostWindows; ++k)
    if (packing.keys[k] > 0) spans[k] = span_of(packing.keys[k] * imbalance, seq);
  return spans;
}

}  // namespace foretrain
