// A product is cut into tiles that the SMs work off in waves; a last wave that is not full costs as much as a
// full one, and so does a tile that juts out. With tiles of a x b and w waves on s SMs
//   work = w * s * 2 a b (k + kPrologue) / efficiency(a, b)
// is what the machine could have multiplied in that time. The best of five tile shapes is taken, as a
// library's heuristic would (smaller tiles reuse less). Less than a wave of tiles is spread over idle SMs
// where k is long enough to be split.
#pragma once

#include "base/units.h"

namespace foretrain {

// Depth of a product's pipeline before the first useful multiply-add, in elements of k.
inline constexpr double kPrologue = 96;

// The products of a batch may have unequal rows: m in the mean, scattered by `deviation` (0: all alike).
// Tiles along them are then those of the mean product, tiles_along below.
Flops tiled_work(double batch, double m, double k, double n, double sms, double deviation = 0);

// The same for a library with a kernel for nearly every shape of tile, as cuBLAS has on Hopper: one side of
// 64, 128 or 256, the other any multiple of 32 up to 256, at most 256 x 192. An a x b tile loads
// (a + b) / (a b) as much as it multiplies, which costs 1 + kLoading (1/a + 1/b) / 2; k is split only where
// each part keeps 2048 of it. The figures are those that explain our H200 samples best.
Flops finely_tiled_work(double batch, double m, double k, double n, double sms, double deviation = 0);

// Tiles of `tile` rows that rows scattered about their mean take in the mean: the sum over j >= 0 of the
// chance that there are more than j * tile, of a normal distribution (more than none at all: of a Poisson
// one). Where the scatter is wide against a tile that is rows / tile + 1/2, half a tile being lost; without
// any it is ceil(rows / tile).
// Example: 2048 rows +- 42 in tiles of 128 take 16.5, for every other expert has a few too many for 16.
double tiles_along(double rows, double deviation, double tile);

// Scatter of what each of `experts` gets of `rows` that are sent at random, alike: binomial.
double routed_deviation(double rows, double experts);

}  // namespace foretrain
