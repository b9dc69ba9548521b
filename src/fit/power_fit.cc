#include "fit/power_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace foretrain {
namespace {

constexpr std::size_t kFewest = 30;
constexpr std::size_t kFewestOfOne = 8;  // settled, of one operator: its energy is known but for a factor
constexpr std::size_t kMostForEnergy = 512;
constexpr double kStaticShare = 1.0 / 7;

bool says_all(const Sample& sample) {
  return is_product(sample.op.kind) && sample.clock_mhz && sample.limit_w &&
         sample.product_share.value_or(1) > 0;
}

// A loop of unknown length is taken as long.
bool has_settled(const Sample& sample) {
  return sample.loop_s.value_or(kSettledLoop.value) >= kSettledLoop.value;
}

// Those of which something holds, or all where it holds of few.
template <class Holds>
void prefer(const Holds& holds, std::vector<const Sample*>& told) {
  const auto held = [&](const Sample* sample) { return holds(*sample); };
  if (static_cast<std::size_t>(std::count_if(told.begin(), told.end(), held)) >= kFewest)
    std::erase_if(told, [&](const Sample* sample) { return !held(sample); });
}

// Products that every model runs. The others have an energy of their own (fit_energy), and how many of them
// were sampled must not move the clock of a model without them.
bool is_common(const Sample& sample) {
  return !is_of_experts(sample.op.kind) && sample.op.kind != OperatorKind::kLatentAttention;
}

// A loop of a product alone.
bool is_alone(const Sample& sample) { return sample.product_share.value_or(1) >= 0.95; }

// A sample's loop at the reference clock.
PowerLoad loop_of(const Sample& sample, const Gpu& gpu, const PowerModel& power, double clocked_share) {
  OperatorCost product;
  product.gpu = Seconds(reference_seconds(sample, gpu, clocked_share));
  product.clocked_share = clocked_share;
  const double drawn = drawn_share(product.gpu / static_cast<double>(std::max(sample.op.launches, 1)));
  product.clocked_watts =
      drawn * flops(sample.op).value * joules_per_flop(power, sample.op.dtype) / product.gpu.value;
  product.watts = power.static_w + bytes(sample.op).value * power.joules_per_byte / product.gpu.value +
                  product.clocked_watts;
  PowerLoad load;
  add(load, product);
  const double share = std::min(sample.product_share.value_or(1), 1.0);
  OperatorCost stream;
  stream.gpu = Seconds(sample.us * 1e-6 * (1 - share) / share);
  stream.watts = power.static_w + power.joules_per_byte * gpu.hbm.value * gpu.memory_efficiency;
  add(load, stream);
  return load;
}

using Point = std::array<double, 3>;  // logs of the three figures

template <class Function>
Point least_of(const Function& f, Point start) {
  constexpr std::size_t n = std::tuple_size_v<Point>;
  struct Corner {
    Point at;
    double value;
  };
  std::array<Corner, n + 1> corners;
  for (std::size_t i = 0; i <= n; ++i) {
    Point at = start;
    if (i > 0) at[i - 1] += 0.3;
    corners[i] = {at, f(at)};
  }
  const auto along = [&](const Point& centre, const Point& from, double step) {
    Point to;
    for (std::size_t i = 0; i < n; ++i) to[i] = centre[i] + step * (centre[i] - from[i]);
    return Corner{to, f(to)};
  };
  for (int round = 0; round < 150; ++round) {
    std::stable_sort(corners.begin(), corners.end(),
                     [](const Corner& a, const Corner& b) { return a.value < b.value; });
    Point centre{};
    for (std::size_t c = 0; c < n; ++c)
      for (std::size_t i = 0; i < n; ++i) centre[i] += corners[c].at[i] / static_cast<double>(n);
    Corner& worst = corners[n];
    const Corner mirrored = along(centre, worst.at, 1);
    if (mirrored.value < corners[0].value) {
      const Corner further = along(centre, worst.at, 2);
      worst = further.value < mirrored.value ? further : mirrored;
    } else if (mirrored.value < corners[n - 1].value) {
      worst = mirrored;
    } else if (const Corner nearer = along(centre, worst.at, -0.5); nearer.value < worst.value) {
      worst = nearer;
    } else {
      for (std::size_t c = 1; c <= n; ++c) corners[c] = along(corners[0].at, corners[c].at, -0.5);
    }
  }
  return std::min_element(corners.begin(), corners.end(),
                          [](const Corner& a, const Corner& b) { return a.value < b.value; })
      ->at;
}

}  // namespace

double predicted_clock(const Sample& sample, const Gpu& gpu, const PowerModel& power, double clocked_share,
                       double energy) {
  PowerLoad load = loop_of(sample, gpu, power, clocked_share);
  load.clocked_joules *= energy;
  return power.reference_mhz * settled_clock(load, power, sample.limit_w.value_or(gpu.power_cap_w));
}

Smooth fit_energy(std::span<const Sample* const> samples, const Gpu& gpu, const PowerModel& power,
                  double clocked_share) {
  std::vector<const Sample*> told;
  for (const Sample* sample : samples)
    if (says_all(*sample) && has_settled(*sample)) told.push_back(sample);
  if (is_scaled(samples.front()->op.dtype)) prefer(is_alone, told);
  if (told.size() < kFewestOfOne) return {};
  std::stable_sort(told.begin(), told.end(), [](const Sample* a, const Sample* b) {
    return shape_hash(a->op, 5) < shape_hash(b->op, 5);
  });
  told.resize(std::min(told.size(), kMostForEnergy));
  std::vector<float> x;
  std::vector<double> y;
  Features features;
  for (const Sample* sample : told) {
    const PowerLoad load = loop_of(*sample, gpu, power, clocked_share);
    const double clock = std::min(*sample->clock_mhz / power.reference_mhz, 1.0);
    // Joules that the cap leaves to FLOPs at this clock, over what they cost on the average.
    const double others = load.fixed_joules + power.static_w * load.clocked.value * (1 / clock - 1);
    const double left = *sample->limit_w * (load.fixed.value + load.clocked.value / clock) - others;
    double factor = left / (load.clocked_joules * std::pow(clock, power.exponent));
    if (clock > 0.98) factor = std::min(factor, 1.0);  // not held down: it costs that much at most
    features = residual_features(sample->op, gpu);
    x.insert(x.end(), features.view().begin(), features.view().end());
    y.push_back(std::log(std::clamp(factor, 0.5, 2.0)));
  }
  return fit_smooth(x, features.scale_view(), y, {.reach = 1, .noise = 1});
}

namespace {

using ClockedShare = std::function<double(const Operator&)>;

// Loops of products that say all, and the share of each that follows the clock.
struct Loops {
  std::vector<const Sample*> samples;
  std::vector<double> shares;

  // Mean |log(predicted / measured)| of their clocks.
  double error(const Gpu& gpu, const PowerModel& model) const {
    double sum = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const double measured = std::min(*samples[i]->clock_mhz, gpu.clock_max_mhz);
      sum += std::abs(std::log(predicted_clock(*samples[i], gpu, model, shares[i]) / measured));
    }
    return sum / static_cast<double>(samples.size());
  }
};

Loops loops_of(const std::vector<Sample>& samples, bool scaled, const ClockedShare& clocked_share) {
  Loops loops;
  for (const Sample& sample : samples)
    if (says_all(sample) && is_scaled(sample.op.dtype) == scaled) loops.samples.push_back(&sample);
  prefer(has_settled, loops.samples);
  prefer(is_common, loops.samples);
  if (scaled) prefer(is_alone, loops.samples);
  for (const Sample* sample : loops.samples) loops.shares.push_back(clocked_share(sample->op));
  return loops;
}

// Joules a FLOP of operands of eight bits, from a fifth of the others' to one and a half of it, by golden section.
void fit_fp8(PowerFit& fit, const Loops& loops, const Gpu& gpu) {
  if (loops.samples.size() < kFewest) return;
  PowerModel model = fit.model;
  const auto error_at = [&](double log_share) {
    model.joules_per_fp8_flop = fit.model.joules_per_flop * std::exp(log_share);
    return loops.error(gpu, model);
  };
  constexpr double kGolden = 0.6180339887498949;
  double low = std::log(0.2), high = std::log(1.5);
  double left = high - kGolden * (high - low), right = low + kGolden * (high - low);
  double at_left = error_at(left), at_right = error_at(right);
  for (int round = 0; round < 30; ++round) {
    if (at_left < at_right) {
      high = right, right = left, at_right = at_left;
      at_left = error_at(left = high - kGolden * (high - low));
    } else {
      low = left, left = right, at_left = at_right;
      at_right = error_at(right = low + kGolden * (high - low));
    }
  }
  fit.fp8_error = error_at((low + high) / 2);
  fit.model = model;
  fit.fp8_samples = loops.samples.size();
}

}  // namespace

std::optional<PowerFit> fit_power(const std::vector<Sample>& samples, const Gpu& gpu,
                                  const std::function<double(const Operator&)>& clocked_share) {
  const Loops loops = loops_of(samples, false, clocked_share);
  if (loops.samples.size() < kFewest || gpu.clock_max_mhz <= 0) return std::nullopt;
  const double cap = gpu.power_cap_w, static_w = kStaticShare * cap;
  const double rate = gpu.rate(loops.samples.front()->op.dtype).value, stream = gpu.hbm.value;
  const auto model_at = [&](const Point& p) {
    return PowerModel{static_w, std::exp(p[0]) / stream, std::exp(p[1]) / rate, std::exp(p[2]),
                      gpu.clock_max_mhz};
  };
  const auto error_of = [&](const Point& p) { return loops.error(gpu, model_at(p)); };
  // Begins where streaming draws half of the cap and multiplying at the full rate three times the cap.
  const Point best = least_of(error_of, {std::log(0.5 * cap), std::log(3 * cap), std::log(2.5)});
  PowerFit fit{model_at(best), loops.samples.size(), error_of(best)};
  fit_fp8(fit, loops_of(samples, true, clocked_share), gpu);
  return fit;
}

}  // namespace foretrain
