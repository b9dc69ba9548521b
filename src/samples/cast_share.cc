#include "samples/cast_share.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "operators/product.h"

namespace foretrain {
namespace {

struct Line {
  double constant = 0, slope = 0;
  double deviation = 0;  // mean, relative
  double at(double elements) const { return constant + slope * elements; }
};

// Microseconds, and by how many they are off.
struct Share {
  double us = 0, off = 0;
};
Share share_of(const Line& line, double elements, double times = 1) {
  const double us = times * line.at(elements);
  return {us, us * line.deviation};
}

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
  if (line.slope <= 0) return std::nullopt;
  double count = 0;
  for (const CastTime& t : times) {
    if (t.us <= 0) continue;
    line.deviation += std::abs(t.us / line.at(t.elements) - 1);
    ++count;
  }
  line.deviation /= count;
  return line;
}

struct Lines {
  std::optional<Line> amax, cast;
  bool known() const { return amax && cast; }
};

Share cast_of(Dtype dtype, double elements, const Lines& lines) {
  switch (dtype) {
    case Dtype::kFp8: {
      const Share scale = share_of(*lines.amax, elements), cast = share_of(*lines.cast, elements);
      return {scale.us + cast.us, std::hypot(scale.off, cast.off)};
    }
    case Dtype::kNvfp4:
      return share_of(*lines.cast, elements, (2 + bytes_of(Dtype::kNvfp4)) / 3);
    default:
      return share_of(*lines.cast, elements);
  }
}

bool is_scaled_linear(const Operator& op) { return op.kind == OperatorKind::kLinear && is_scaled(op.dtype); }

// The fastest times of a shape, of operators that pass.
template <class Test>
std::unordered_map<Operator, double> fastest_of(const std::vector<Sample>& samples, const Test& test) {
  std::unordered_map<Operator, double> fastest;
  for (const Sample& sample : samples) {
    if (!test(sample.op)) continue;
    const auto [at, is_new] = fastest.try_emplace(sample.op, sample.us);
    if (!is_new) at->second = std::min(at->second, sample.us);
  }
  return fastest;
}

}  // namespace

CastsTaken take_off_casts(std::vector<Sample>& samples, const CastsByLibrary& casts) {
  std::map<std::string, Lines> lines;
  for (const auto& [library, times] : casts) lines[library] = {line_of(times.amaxes), line_of(times.casts)};
  CastsTaken taken;
  taken.mostly_cast = std::erase_if(samples, [&](Sample& sample) {
    if (!is_scaled_linear(sample.op)) return false;
    const auto known = lines.find(sample.group);
    if (known == lines.end() || !known->second.known()) return true;
    const auto [m, k, n] = sample.op.as<LinearSizes>();
    const Share cast =
        cast_of(sample.op.dtype, static_cast<double>(m) * static_cast<double>(k), known->second);
    sample.us -= cast.us;
    return cast.off > kMostUnsure * sample.us;
  });
  const auto wide = fastest_of(samples, [](const Operator& op) {
    return op.kind == OperatorKind::kLinear && op.dtype == Dtype::kBf16 && op.pass == PassKind::kForward;
  });
  taken.above_bf16 = std::erase_if(samples, [&](const Sample& sample) {
    if (!is_scaled_linear(sample.op)) return false;
    Operator same = sample.op;
    same.dtype = Dtype::kBf16;
    const auto at = wide.find(same);
    return at != wide.end() && sample.us > at->second;
  });
  const auto narrow = fastest_of(samples, is_scaled_linear);
  taken.slower = std::erase_if(samples, [&](const Sample& sample) {
    return is_scaled_linear(sample.op) && sample.us > narrow.at(sample.op);
  });
  return taken;
}

}  // namespace foretrain
