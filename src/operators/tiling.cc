#include "operators/tiling.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace foretrain {
namespace {

struct Tile {
  double m, n;
  double efficiency;  // against the largest tile: smaller ones reuse less
};
constexpr Tile kTiles[] = {
    {128, 256, 1.0}, {256, 128, 1.0}, {128, 128, 0.93}, {128, 64, 0.80}, {64, 64, 0.60}};

}  // namespace

double routed_deviation(double rows, double experts) {
  return std::sqrt(rows / experts * std::max(0.0, 1 - 1 / experts));
}

double tiles_along(double rows, double deviation, double tile) {
  if (deviation <= 0) return std::ceil(rows / tile);
  // Half a tile's deviation spreads the last tile evenly: what is left out is below 0.003 tiles.
  if (deviation >= tile / 2 && rows >= 4 * deviation) return rows / tile + 0.5;
  double tiles = 1 - std::exp(-rows);  // any rows at all
  for (double j = 1; j * tile < rows + 6 * deviation; ++j)
    tiles +=
        j * tile < rows - 6 * deviation ? 1 : std::erfc((j * tile - rows) / (deviation * std::sqrt(2.0))) / 2;
  return tiles;
}

Flops tiled_work(double batch, double m, double k, double n, double sms, double deviation) {
  double best = HUGE_VAL;
  for (const Tile& tile : kTiles) {
    const double tiles = batch * tiles_along(m, deviation, tile.m) * std::ceil(n / tile.n);
    double waves = tiles / sms;
    // Less than a wave: k is split over the idle SMs as long as each part keeps 512 of it.
    const double splits = waves < 1 ? std::max(1.0, std::min(std::floor(1 / waves), std::floor(k / 512))) : 1;
    waves = splits > 1 ? waves * splits : std::ceil(waves);
    const double depth = k / splits + kPrologue;
    best = std::min(best, std::ceil(waves) * sms * 2 * tile.m * tile.n * depth / tile.efficiency);
  }
  return Flops(best);
}

Flops finely_tiled_work(double batch, double m, double k, double n, double sms, double deviation) {
  constexpr double kDepth = 256, kLoading = 25, kLeastPart = 2048, kLargest = 256 * 192;
  double best = HUGE_VAL;
  const auto try_tile = [&](double a, double b) {
    if (a * b > kLargest) return;
    const double waves = batch * tiles_along(m, deviation, a) * std::ceil(n / b) / sms;
    const double splits =
        waves < 1 ? std::max(1.0, std::min(std::floor(1 / waves), std::floor(k / kLeastPart))) : 1;
    const double loading = 1 + kLoading * (1 / a + 1 / b) / 2;
    best = std::min(best, std::ceil(waves * splits) * a * b * (k / splits + kDepth) * loading);
  };
  for (const double side : {64.0, 128.0, 256.0})
    for (double other = 64; other <= 256; other += 32) {
      try_tile(side, other);
      try_tile(other, side);
    }
  return Flops(2 * sms * best);
}

}  // namespace foretrain
