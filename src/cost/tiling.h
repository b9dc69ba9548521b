// A product is cut into tiles that the SMs work off in waves; a last wave that is not full costs as much as a
// full one, and so does a tile that juts out. With tiles of a x b and w waves on s SMs
//   work = w * s * 2 a b (k + kPrologue) / efficiency(a, b)
// is what the machine could have multiplied in that time. The best of five tile shapes is taken, as a
// library's heuristic would (smaller tiles reuse less). Less than a wave of tiles is spread over idle SMs
// where k is long enough to be split.
#pragma once

#include "base/units.h"

namespace foretrain {

Flops tiled_work(double batch, double m, double k, double n, double sms);

// The same for a library with a kernel for nearly every shape of tile, as cuBLAS has on Hopper: one side of
// 64, 128 or 256, the other any multiple of 32 up to 256, at most 256 x 192. An a x b tile loads
// (a + b) / (a b) as much as it multiplies, which costs 1 + kLoading (1/a + 1/b) / 2; k is split only where
// each part keeps 2048 of it. The figures are those that explain our H200 samples best.
Flops finely_tiled_work(double batch, double m, double k, double n, double sms);

}  // namespace foretrain
