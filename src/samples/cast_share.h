// What the cast of activations takes of a product in low precision that was timed with it, as inference libraries run
// them. Published tables of casts alone, by GPU and library, give a line over elements e,
//   amax(e) = a + b e,   cast(e) = c + d e
// each of least relative error, and a product of m x k activations is its time less what its format needs first:
//   fp8        amax + cast          a scale a tensor, found anew
//   fp8-block  cast                 scales are found on the way
//   nvfp4      cast, of 2.56 of 3 bytes an element
// Where that leaves less than half of the time, or no casts are known, nothing can be said of the product.
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

// Takes the cast off products of scaled formats, and drops those of which too little is left; counts these.
std::size_t take_off_casts(std::vector<Sample>& samples, const CastsByLibrary& casts);

}  // namespace foretrain
