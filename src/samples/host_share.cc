#include "samples/host_share.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "operators/optimizer.h"

namespace foretrain {
namespace {

constexpr std::size_t kFewest = 40;  // samples
constexpr double kLeastRange = 2;    // most tensors against fewest
constexpr double kWorstFit = 0.1;    // median relative error
constexpr double kFasterThanMemory = 1.1;

using Line = std::array<double, 3>;  // us: always, a byte, a tensor

double tensors(const Sample& sample) { return static_cast<double>(sample.op.as<StateSizes>().tensors); }

Line columns(const Sample& sample) { return {1.0, bytes(sample.op).value, tensors(sample)}; }

double on_line(const Line& line, const Sample& sample) {
  const Line x = columns(sample);
  return line[0] * x[0] + line[1] * x[1] + line[2] * x[2];
}

// Least squares of the relative error; none where the samples do not tell the three apart.
std::optional<Line> fit_line(std::span<Sample* const> samples) {
  double m[3][4] = {};
  for (const Sample* sample : samples) {
    const Line x = columns(*sample);
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) m[i][j] += x[i] * x[j] / (sample->us * sample->us);
      m[i][3] += x[i] / sample->us;
    }
  }
  // Bytes and tensors are of unlike size: scale to a unit diagonal, so that pivots can be judged.
  Line scale;
  for (std::size_t i = 0; i < 3; ++i) scale[i] = 1 / std::sqrt(m[i][i]);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) m[i][j] *= scale[i] * scale[j];
    m[i][3] *= scale[i];
  }
  for (std::size_t k = 0; k < 3; ++k) {  // symmetric and positive: no exchange of rows is needed
    if (!(m[k][k] > 1e-9)) return std::nullopt;
    for (std::size_t i = 0; i < 3; ++i) {
      if (i == k) continue;
      const double f = m[i][k] / m[k][k];
      for (std::size_t j = k; j < 4; ++j) m[i][j] -= f * m[k][j];
    }
  }
  Line line;
  for (std::size_t i = 0; i < 3; ++i) line[i] = scale[i] * m[i][3] / m[i][i];
  return line;
}

}  // namespace

double take_off_host_share(std::span<Sample* const> samples, const Gpu& gpu) {
  if (samples.size() < kFewest) return 0;
  const Operator& first = samples.front()->op;
  if (first.kind != OperatorKind::kAdamw || first.impl == Impl::kEager) return 0;
  // Samples that tell the host's time have it apart already.
  if (std::any_of(samples.begin(), samples.end(), [](const Sample* s) { return s->host_us.has_value(); }))
    return 0;
  const auto [few, most] =
      std::minmax_element(samples.begin(), samples.end(),
                          [](const Sample* a, const Sample* b) { return tensors(*a) < tensors(*b); });
  if (tensors(**most) < kLeastRange * tensors(**few)) return 0;
  const std::optional<Line> line = fit_line(samples);
  if (!line || (*line)[2] < kMostOnGpu) return 0;
  if ((*line)[1] * 1e-6 * gpu.hbm.value * kFasterThanMemory < 1) return 0;

  std::vector<double> errors;
  for (const Sample* sample : samples) errors.push_back(std::abs(on_line(*line, *sample) / sample->us - 1));
  std::nth_element(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2),
                   errors.end());
  if (errors[errors.size() / 2] > kWorstFit) return 0;

  for (Sample* sample : samples) {
    // A row below the line keeps what the line gives its bytes at least in part, so that cleaning can judge it.
    const double host = (*line)[2] * tensors(*sample);
    sample->us = std::max(sample->us - host, 0.01 * sample->us);
  }
  return (*line)[2];
}

}  // namespace foretrain
