#include "fit/collective_base.h"

#include <algorithm>

namespace foretrain {
namespace {

constexpr std::size_t kMostForBase = 300;  // of a layout, evenly over its sizes: two figures need no more
// Latency is not seen in large messages, bandwidth not in small ones: without evidence they stay as stated.
constexpr double kLatencyPrior = 0.02;
constexpr double kSharePrior = 0.0005;
constexpr double kRowPrior = 0.001;
constexpr Seconds kMostOfRow{200e-9}, kRowScale{50e-9};
constexpr double kShareStep = 0.7;  // either way, as a logarithm
constexpr int kFewSections = 12;

// The least of f by golden sections, where it has one.
template <class F>
double narrowed(double low, double high, int sections, const F& f) {
  constexpr double kGolden = 0.6180339887498949;
  for (int i = 0; i < sections; ++i) {
    const double c = high - (high - low) * kGolden, d = low + (high - low) * kGolden;
    if (f(c) <= f(d))
      high = d;
    else
      low = c;
  }
  return (low + high) / 2;
}

template <class F>
double least(double low, double high, const F& f) {
  // A grid first, since the choice among algorithms makes kinks; then golden sections around its best.
  constexpr int kGrid = 24;
  double best = low, value = f(low);
  for (int i = 1; i <= kGrid; ++i) {
    const double x = low + (high - low) * i / kGrid;
    if (const double v = f(x); v < value) best = x, value = v;
  }
  return narrowed(std::max(low, best - (high - low) / kGrid), std::min(high, best + (high - low) / kGrid), 40,
                  f);
}

}  // namespace

double rounded(double value, int digits) {
  if (value == 0) return 0;
  const double scale = std::pow(10, digits - 1 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

void fit_base(BaseModel& model, const std::vector<LayoutSamples>& layouts) {
  const double stated = model.stated_share();
  // Rows of one length, as are sampled between nodes, do not tell the time of a token from that of its bytes.
  const bool fits_row = is_routed(model.fit().kind) && model.fit().tier == Tier::kIntra;
  const auto error = [&] {
    double sum = 0;
    for (const LayoutSamples& layout : layouts) {
      const std::size_t n = layout.samples.size(), most = std::min(n, kMostForBase);
      double of_layout = 0;
      for (std::size_t i = 0; i < most; ++i)
        of_layout += std::abs(model.log_departure(layout, *layout.samples[i * n / most]));
      sum += of_layout / static_cast<double>(most);
    }
    const double log_latency = std::log(model.fit().latency_scale);
    const double log_share = std::log(model.fit().bandwidth_share / stated);
    const double row = (model.fit().row - model.stated_row()) / kRowScale;
    return sum / static_cast<double>(layouts.size()) + kLatencyPrior * log_latency * log_latency +
           kSharePrior * log_share * log_share + (fits_row ? kRowPrior * row * row : 0);
  };
  const auto error_of_share = [&](double log_share) {
    model.fit().bandwidth_share = std::exp(log_share);
    return error();
  };
  for (int round = 0; round < 3; ++round) {
    if (fits_row) {
      // A shorter row with a smaller share fits nearly as well: each row is judged with the share that suits it.
      const double share = std::log(model.fit().bandwidth_share);
      const double row = least(0, kMostOfRow.value, [&](double x) {
        model.fit().row = Seconds(x);
        return error_of_share(narrowed(share - kShareStep, share + kShareStep, kFewSections, error_of_share));
      });
      model.fit().row = Seconds(rounded(row * 1e9, 4) * 1e-9);  // as it is written: in nanoseconds
    }
    const double share = least(std::log(1e-4), std::log(1.5), error_of_share);
    model.fit().bandwidth_share = rounded(std::exp(share));
    const double latency = least(std::log(0.05), std::log(20), [&](double x) {
      model.fit().latency_scale = std::exp(x);
      return error();
    });
    model.fit().latency_scale = rounded(std::exp(latency), 4);
  }
}

}  // namespace foretrain
