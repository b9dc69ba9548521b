#include "fit/operator_fit.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "fit/least_squares.h"

namespace foretrain {
namespace {

constexpr std::size_t kFewForTrees = 40;  // with fewer rows the base stands alone

// Repeats of one shape stand as their median: labels are noisy, and a shape that was timed often is not more
// important for that.
struct Shape {
  Operator op;
  double seconds = 0;
};
std::vector<Shape> distinct_shapes(std::span<const Sample* const> samples) {
  std::unordered_map<Operator, std::size_t> index;
  std::vector<std::vector<double>> times;
  std::vector<Shape> shapes;
  for (const Sample* sample : samples) {
    const auto [at, is_new] = index.try_emplace(sample->op, shapes.size());
    if (is_new) {
      shapes.push_back({sample->op, 0});
      times.emplace_back();
    }
    times[at->second].push_back(sample->us * 1e-6);
  }
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    std::sort(times[i].begin(), times[i].end());
    const std::size_t n = times[i].size();
    shapes[i].seconds = (times[i][(n - 1) / 2] + times[i][n / 2]) / 2;
  }
  return shapes;
}

std::array<double, kMaxTerms> fit_base(std::span<const Shape> shapes, const Gpu& gpu) {
  std::vector<double> a;
  const std::vector<double> ones(shapes.size(), 1.0);
  std::size_t columns = 0;
  for (const Shape& shape : shapes) {
    const Terms terms = physical_terms(shape.op, gpu);
    columns = terms.count;
    for (std::size_t i = 0; i < terms.count; ++i) a.push_back(terms.seconds[i] / shape.seconds);
  }
  const std::vector<double> c = non_negative_least_squares(a, columns, ones);
  std::array<double, kMaxTerms> coefficients{};
  std::copy(c.begin(), c.end(), coefficients.begin());
  return coefficients;
}

// Median over the samples that say; 0 where none does.
double host_per_launch(std::span<const Sample* const> samples) {
  std::vector<double> host;
  for (const Sample* sample : samples)
    if (sample->host_us) host.push_back(*sample->host_us * 1e-6 / std::max(sample->op.launches, 1));
  if (host.empty()) return 0;
  const auto middle = host.begin() + static_cast<std::ptrdiff_t>(host.size() / 2);
  std::nth_element(host.begin(), middle, host.end());
  return *middle;
}

// Half the width of the interval that holds 80 % of the log errors, as a deviation.
double spread_of(std::vector<double> ratios) {
  if (ratios.empty()) return 0;
  for (double& r : ratios) r = std::abs(std::log(r));
  const auto at = static_cast<std::ptrdiff_t>(
      std::min(std::ceil(0.8 * static_cast<double>(ratios.size() + 1)), static_cast<double>(ratios.size())) -
      1);
  std::nth_element(ratios.begin(), ratios.begin() + at, ratios.end());
  return ratios[static_cast<std::size_t>(at)] / kZ80;
}

}  // namespace

std::uint64_t shape_hash(const Operator& op, std::uint64_t seed) {
  Operator shape = op;
  shape.launches = 1;  // of how many kernels it is made is no part of a shape
  std::uint64_t h = static_cast<std::uint64_t>(hash_of(shape)) ^ (seed * 0xd1342543de82ef95ull);
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93ull;
  return h ^ h >> 32;
}

double mean_error(std::span<const double> ratios) {
  double sum = 0;
  for (const double r : ratios) sum += std::abs(r - 1);
  return ratios.empty() ? 0 : sum / static_cast<double>(ratios.size());
}

Result<FittedOperator> fit_model(std::span<const Sample* const> samples, const Gpu& gpu,
                                 const BoostOptions& options) {
  FittedOperator fitted;
  fitted.boost = options;
  fitted.key = key_of(samples.front()->op);
  fitted.facts.samples = static_cast<std::int64_t>(samples.size());
  fitted.facts.size_low.fill(HUGE_VAL);
  for (const Sample* sample : samples)
    for (std::size_t i = 0; i < sample->op.sizes.size(); ++i) {
      const double size = static_cast<double>(sample->op.sizes[i]);
      fitted.facts.size_low[i] = std::min(fitted.facts.size_low[i], size);
      fitted.facts.size_high[i] = std::max(fitted.facts.size_high[i], size);
    }
  fitted.facts.seconds_per_launch_host = host_per_launch(samples);
  const std::vector<Shape> shapes = distinct_shapes(samples);
  if (fitted.key.kind == OperatorKind::kAttention)
    for (const Shape& shape : shapes)
      fitted.facts.group_high = std::max(fitted.facts.group_high, query_groups(shape.op));
  fitted.coefficients = fit_base(shapes, gpu);
  if (shapes.size() < kFewForTrees) return fitted;

  std::vector<float> x, y;
  std::size_t columns = 0;
  for (const Shape& shape : shapes) {
    const Features features = residual_features(shape.op, gpu);
    columns = features.count;
    x.insert(x.end(), features.values.begin(),
             features.values.begin() + static_cast<std::ptrdiff_t>(columns));
    const double base = base_seconds(fitted.coefficients, physical_terms(shape.op, gpu));
    y.push_back(static_cast<float>(std::log(shape.seconds / base)));
  }
  TRY_ASSIGN(fitted.residual, boost(x, columns, y, {}, options));
  return fitted;
}

std::vector<double> ratios(const FittedOperator& model, std::span<const Sample* const> test, const Gpu& gpu) {
  std::vector<double> out;
  out.reserve(test.size());
  const OperatorModelView view = model.view();
  for (const Sample* sample : test)
    out.push_back(evaluate(view, sample->op, gpu).gpu.value / (sample->us * 1e-6));
  return out;
}

namespace {

using Samples = std::vector<const Sample*>;

// Shapes whose hash falls into `fold` judge, the others are fitted on.
std::pair<Samples, Samples> split(std::span<const Sample* const> samples, std::uint64_t seed,
                                  std::uint64_t folds, std::uint64_t fold) {
  Samples train, test;
  for (const Sample* sample : samples)
    (shape_hash(sample->op, seed) % folds == fold ? test : train).push_back(sample);
  return {std::move(train), std::move(test)};
}

}  // namespace

Result<BoostOptions> choose_boost(std::span<const Sample* const> samples, const Gpu& gpu,
                                  const FitOptions& options) {
  const BoostOptions* best = &options.candidates.front();
  if (options.candidates.size() == 1) return *best;
  constexpr std::uint64_t kInnerFolds = 4;
  const auto [train, test] = split(samples, options.seed + 1, kInnerFolds, 0);
  if (train.empty() || test.empty()) return *best;
  double least = HUGE_VAL;
  for (const BoostOptions& candidate : options.candidates) {
    TRY_ASSIGN(const FittedOperator model, fit_model(train, gpu, candidate));
    const double error = mean_error(ratios(model, test, gpu));
    if (error < least) least = error, best = &candidate;
  }
  return *best;
}

Result<FittedOperator> fit_operator(std::span<const Sample* const> samples, const Gpu& gpu,
                                    const FitOptions& options) {
  std::vector<double> held_out, by_sample(samples.size());
  const auto folds = static_cast<std::uint64_t>(options.folds);
  for (std::uint64_t fold = 0; fold < folds; ++fold) {
    const auto [train, test] = split(samples, options.seed, folds, fold);
    if (train.empty() || test.empty()) continue;
    TRY_ASSIGN(const BoostOptions boost, choose_boost(train, gpu, options));
    TRY_ASSIGN(const FittedOperator model, fit_model(train, gpu, boost));
    const std::vector<double> fold_ratios = ratios(model, test, gpu);
    held_out.insert(held_out.end(), fold_ratios.begin(), fold_ratios.end());
    std::size_t next = 0;  // test keeps the order of samples
    for (std::size_t i = 0; i < samples.size() && next < test.size(); ++i)
      if (samples[i] == test[next]) by_sample[i] = fold_ratios[next++];
  }
  TRY_ASSIGN(const BoostOptions boost, choose_boost(samples, gpu, options));
  TRY_ASSIGN(FittedOperator fitted, fit_model(samples, gpu, boost));
  fitted.held_out = std::move(by_sample);
  constexpr double kLeastSpread = 0.003;  // clocks and counters are no better
  fitted.facts.error = mean_error(held_out);
  fitted.facts.spread = std::max(spread_of(held_out), kLeastSpread);
  fitted.facts.spread_outside = std::max(2 * fitted.facts.spread, 0.1);
  return fitted;
}

std::size_t distinct_shape_count(std::span<const Sample* const> samples) {
  return distinct_shapes(samples).size();
}

}  // namespace foretrain
