// What the cast of activations takes of a product in low precision that was timed with it, as inference libraries run
// them. Published tables of casts alone, by GPU and library, give a line over elements e,
//   amax(e) = a + b e,   cast(e) = c + d e
// each of least relative error, and a product of m x k activations is its time less what its format needs first:
//   fp8        amax + cast          a scale a tensor, found anew
//   fp8-block, mxfp8   cast         scales are found on the way
//   nvfp4      cast, of 2.56 of 3 bytes an element
// as aiconfigurator itself does it for products by a known scale (its formula gemm_fp8_scale_overhead_subtraction).
//
// A remainder counts where it can be the product's alone:
//   - the lines are off by some share of a cast (their mean deviation), which is a larger one of a small remainder; up to
//     kMostUnsure of it that says more than a product of bf16 would (cost/formats.h: kFromBf16Spread)
//   - it is no slower than the same product in bf16: operands of half the bytes at twice the rate are not
//   - of several libraries' it is the fastest of its shape: what remains beside a product adds to it, nothing takes from
//     it. vLLM's products in fp8 ran behind another cast than its table holds: for 8192 x 4096 activations on a B200
//     their times over n begin at 86 us, where amax and cast of the table are 31; TensorRT-LLM's begin at 60, table 50.
// Where no casts are known, nothing can be said of the product.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "samples/sample.h"

namespace foretrain {

struct CastTime {
  double elements = 0, us = 0;
};
struct CastTimes {
  std::vector<CastTime> amaxes, casts;
};
using CastsByLibrary = std::map<std::string, CastTimes>;  // the samples' group

// How many products of scaled formats were left out, by reason.
struct CastsTaken {
  std::size_t mostly_cast = 0;  // too little is left, or no cast is known
  std::size_t above_bf16 = 0;
  std::size_t slower = 0;  // than another library's

  CastsTaken& operator+=(const CastsTaken& other) {
    mostly_cast += other.mostly_cast, above_bf16 += other.above_bf16, slower += other.slower;
    return *this;
  }
};

inline constexpr double kMostUnsure = 0.25;

// Takes the cast off products of scaled formats, of one GPU, and drops the remainders that do not count.
CastsTaken take_off_casts(std::vector<Sample>& samples, const CastsByLibrary& casts);

}  // namespace foretrain
