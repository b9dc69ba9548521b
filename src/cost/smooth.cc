#include "cost/smooth.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace foretrain {

float SmoothView::predict(std::span<const float> x) const {
  const std::size_t features = feature.size(), blocks = weights.size() / kSmoothBlock;
  std::array<float, kMaxSmoothFeatures> at;
  for (std::size_t f = 0; f < features; ++f) at[f] = x[feature[f]] * scale[f];
  std::array<float, kSmoothBlock> sum{};
  const float* point = points.data();
  for (std::size_t b = 0; b < blocks; ++b) {
    std::array<float, kSmoothBlock> distance;
    distance.fill(1.0f);
    for (std::size_t f = 0; f < features; ++f, point += kSmoothBlock)
      for (std::size_t i = 0; i < kSmoothBlock; ++i) {
        const float d = at[f] - point[i];
        distance[i] += d * d;
      }
    for (std::size_t i = 0; i < kSmoothBlock; ++i) sum[i] += weights[b * kSmoothBlock + i] / distance[i];
  }
  float all = mean;
  for (const float s : sum) all += s;
  return all;
}

bool well_formed(const SmoothView& smooth, std::int32_t features) {
  const auto finite = [](std::span<const float> values) {
    return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
  };
  const auto known = [&](std::uint8_t f) { return f < features; };
  return std::isfinite(smooth.mean) && smooth.feature.size() <= kMaxSmoothFeatures &&
         smooth.scale.size() == smooth.feature.size() && smooth.weights.size() % kSmoothBlock == 0 &&
         smooth.points.size() == smooth.weights.size() * smooth.feature.size() &&
         std::all_of(smooth.feature.begin(), smooth.feature.end(), known) && finite(smooth.scale) &&
         finite(smooth.points) && finite(smooth.weights);
}

}  // namespace foretrain
