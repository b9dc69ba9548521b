#include "samples/cast_share.h"

#include <algorithm>
#include <optional>

#include "operators/product.h"

namespace foretrain {
namespace {

struct Line {
  double constant = 0, slope = 0;
  double at(double elements) const { return constant + slope * elements; }
};

// Weighted by 1 / us^2, neither part below zero.
std::optional<Line> line_of(const std::vector<CastTime>& times) {
  double s1 = 0, sx = 0, sxx = 0, sy = 0, sxy = 0;
  for (const CastTime& t : times) {
    if (t.us <= 0) continue;
    const double w = 1 / (t.us * t.us);
    s1 += w, sx += w * t.elements, sxx += w * t.elements * t.elements, sy += w * t.us;
    sxy += w * t.elements * t.us;
  }
  const double spread = s1 * sxx - sx * sx;
  if (times.size() < 8 || spread <= 0) return std::nullopt;
  Line line{(sxx * sy - sx * sxy) / spread, (s1 * sxy - sx * sy) / spread};
  if (line.constant < 0) line = {0, sxy / sxx};
  return line.slope > 0 ? std::optional(line) : std::nullopt;
}

double cast_us(Dtype dtype, double elements, const Line& amax, const Line& cast) {
  switch (dtype) {
    case Dtype::kFp8:
      return amax.at(elements) + cast.at(elements);
    case Dtype::kNvfp4:
      return cast.at(elements) * (2 + bytes_of(Dtype::kNvfp4)) / 3;
    default:
      return cast.at(elements);
  }
}

}  // namespace

std::size_t take_off_casts(std::vector<Sample>& samples, const CastsByLibrary& casts) {
  constexpr double kLeastLeft = 0.5;
  std::map<std::string, std::pair<std::optional<Line>, std::optional<Line>>> lines;
  for (const auto& [library, times] : casts) lines[library] = {line_of(times.amaxes), line_of(times.casts)};
  return std::erase_if(samples, [&](Sample& sample) {
    if (sample.op.kind != OperatorKind::kLinear || !is_scaled(sample.op.dtype)) return false;
    const auto known = lines.find(sample.group);
    if (known == lines.end() || !known->second.first || !known->second.second) return true;
    const auto [m, k, n] = sample.op.as<LinearSizes>();
    const double elements = static_cast<double>(m) * static_cast<double>(k);
    const double left =
        sample.us - cast_us(sample.op.dtype, elements, *known->second.first, *known->second.second);
    if (left < kLeastLeft * sample.us) return true;
    sample.us = left;
    return false;
  });
}

}  // namespace foretrain
