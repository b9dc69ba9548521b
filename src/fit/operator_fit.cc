#include "fit/operator_fit.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "fit/least_squares.h"
#include "operators/attention.h"

namespace foretrain {
namespace {

constexpr std::size_t kFewForTrees = 40;      // with fewer rows trees see nothing
constexpr std::size_t kMostForSmooth = 2200;  // of more, trees make as much, and the work grows with the cube
constexpr std::size_t kFewToChoose = 600;     // with more rows one quarter is enough to choose by
constexpr std::size_t kMostForHost = 256;     // host times scatter by a fifth: more points say no more

double slow_down(const Sample& sample, const Gpu& gpu, double clocked_share) {
  if (!sample.clock_mhz || clocked_share == 0) return 1;
  return 1 + clocked_share * (std::max(gpu.clock_max_mhz / *sample.clock_mhz, 1.0) - 1);
}

// Repeats of one shape stand as their median: labels are noisy, and a shape that was timed often is not more
// important for that.
struct Shape {
  Operator op;
  double seconds = 0;
};
std::vector<Shape> distinct_shapes(std::span<const Sample* const> samples, const Gpu& gpu,
                                   double clocked_share) {
  std::unordered_map<Operator, std::size_t> index;
  std::vector<std::vector<double>> times;
  std::vector<Shape> shapes;
  for (const Sample* sample : samples) {
    const auto [at, is_new] = index.try_emplace(sample->op, shapes.size());
    if (is_new) {
      shapes.push_back({sample->op, 0});
      times.emplace_back();
    }
    times[at->second].push_back(reference_seconds(*sample, gpu, clocked_share));
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

// log(host seconds a launch), smooth and blunt; none where a sample lacks it or there are few.
Smooth fit_host(std::span<const Sample* const> samples, const Gpu& gpu) {
  std::vector<const Sample*> told;
  for (const Sample* sample : samples)
    if (sample->host_us && *sample->host_us > 0) told.push_back(sample);
  if (told.size() < 8 || told.size() < samples.size() / 2) return {};
  std::stable_sort(told.begin(), told.end(), [](const Sample* a, const Sample* b) {
    return shape_hash(a->op, 3) < shape_hash(b->op, 3);
  });
  told.resize(std::min(told.size(), kMostForHost));
  std::vector<float> x;
  std::vector<double> y;
  Features features;
  for (const Sample* sample : told) {
    features = residual_features(sample->op, gpu);
    x.insert(x.end(), features.view().begin(), features.view().end());
    y.push_back(std::log(*sample->host_us * 1e-6 / std::max(sample->op.launches, 1)));
  }
  return fit_smooth(x, features.scale_view(), y, {.reach = 1, .noise = 1});
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

double reference_seconds(const Sample& sample, const Gpu& gpu, double clocked_share) {
  return sample.us * 1e-6 / slow_down(sample, gpu, clocked_share);
}

std::uint64_t shape_hash(const Operator& op, std::uint64_t seed) {
  Operator shape = op;
  shape.launches = 1;  // of how many kernels it is made is no part of a shape
  shape.pass = PassKind::kForward;
  shape.impl = Impl::kAten;
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
                                 const ResidualOptions& options, double clocked_share) {
  FittedOperator fitted;
  fitted.key = key_of(samples.front()->op);
  fitted.facts.pooled = false;
  for (const Sample* sample : samples)
    if (key_of(sample->op) != fitted.key) fitted.facts.pooled = true;
  if (fitted.facts.pooled) fitted.key = pooled_key(fitted.key);
  fitted.facts.samples = static_cast<std::int64_t>(samples.size());
  fitted.facts.clocked_share = clocked_share;
  fitted.facts.size_low.fill(HUGE_VAL);
  for (const Sample* sample : samples)
    for (std::size_t i = 0; i < kMaxSizes; ++i) {
      const double size = static_cast<double>(sample->op.flat()[i]);
      fitted.facts.size_low[i] = std::min(fitted.facts.size_low[i], size);
      fitted.facts.size_high[i] = std::max(fitted.facts.size_high[i], size);
    }
  fitted.facts.seconds_per_launch_host = host_per_launch(samples);
  const std::vector<Shape> shapes = distinct_shapes(samples, gpu, clocked_share);
  if (fitted.key.kind == OperatorKind::kAttention)
    for (const Shape& shape : shapes)
      fitted.facts.group_high = std::max(fitted.facts.group_high, query_groups(shape.op));
  fitted.coefficients = fit_base(shapes, gpu);

  using Kind = ResidualOptions::Kind;
  const bool trees = options.kind == Kind::kTrees;
  if (options.kind == Kind::kNone || (trees && shapes.size() < kFewForTrees)) return fitted;
  std::vector<float> x, y;
  std::vector<double> residual;
  Features features;
  for (const Shape& shape : shapes) {
    features = residual_features(shape.op, gpu);
    x.insert(x.end(), features.view().begin(), features.view().end());
    const double base = base_seconds(fitted.coefficients, physical_terms(shape.op, gpu));
    residual.push_back(std::log(shape.seconds / base));
    y.push_back(static_cast<float>(residual.back()));
  }
  if (trees) {
    TRY_ASSIGN(fitted.residual, boost(x, features.count, y, {}, options.boost));
  } else {
    fitted.smooth = fit_smooth(x, features.scale_view(), residual, options.smooth);
  }
  return fitted;
}

std::vector<double> ratios(const FittedOperator& model, std::span<const Sample* const> test, const Gpu& gpu) {
  std::vector<double> out;
  out.reserve(test.size());
  const OperatorModelView view = model.view();
  for (const Sample* sample : test)
    out.push_back(evaluate(view, sample->op, gpu).gpu.value /
                  reference_seconds(*sample, gpu, model.facts.clocked_share));
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

// About as many as are wanted, by shape.
Samples thinned(std::span<const Sample* const> samples, std::uint64_t seed, std::size_t wanted) {
  const std::uint64_t one_in = std::max<std::uint64_t>(1, samples.size() / wanted);
  Samples few;
  for (const Sample* sample : samples)
    if (shape_hash(sample->op, seed) % one_in == 0) few.push_back(sample);
  return few;
}

constexpr std::uint64_t kInnerFolds = 4;

// Mean error of a candidate on a quarter of the shapes, or on all quarters in turn; none where a quarter is
// empty.
Result<std::optional<double>> inner_error(std::span<const Sample* const> samples, const Gpu& gpu,
                                          const FitOptions& options, const ResidualOptions& candidate,
                                          double clocked_share) {
  const std::uint64_t quarters = samples.size() < kFewToChoose ? kInnerFolds : 1;
  double sum = 0, count = 0;
  for (std::uint64_t fold = 0; fold < quarters; ++fold) {
    const auto [train, test] = split(samples, options.seed + 1, kInnerFolds, fold);
    if (train.empty() || test.empty()) continue;
    TRY_ASSIGN(const FittedOperator model, fit_model(train, gpu, candidate, clocked_share));
    const std::vector<double> found = ratios(model, test, gpu);
    sum += mean_error(found) * static_cast<double>(found.size());
    count += static_cast<double>(found.size());
  }
  if (count == 0) return std::optional<double>();
  return std::optional<double>(sum / count);
}

// Two samples of one shape at clocks over a twentieth apart.
struct Pair {
  const Sample* slow;
  const Sample* fast;
};
std::vector<Pair> pairs_of(std::span<const Sample* const> samples) {
  std::unordered_map<Operator, const Sample*> first;
  std::vector<Pair> pairs;
  for (const Sample* sample : samples) {
    const auto [at, is_new] = first.try_emplace(sample->op, sample);
    if (is_new) continue;
    const Sample* other = at->second;
    if (*other->clock_mhz > *sample->clock_mhz) std::swap(sample, other);
    if (*sample->clock_mhz > 1.05 * *other->clock_mhz) pairs.push_back({other, sample});
  }
  return pairs;
}

// How far a share is from explaining the pairs, in the mean.
double pair_error(std::span<const Pair> pairs, const Gpu& gpu, double clocked_share) {
  double sum = 0;
  for (const Pair& pair : pairs)
    sum += std::abs(std::log(reference_seconds(*pair.slow, gpu, clocked_share) /
                             reference_seconds(*pair.fast, gpu, clocked_share)));
  return sum / static_cast<double>(pairs.size());
}

}  // namespace

Result<double> fit_clocked_share(std::span<const Sample* const> samples, const Gpu& gpu,
                                 const FitOptions& options) {
  const auto has_clock = [](const Sample* sample) { return sample->clock_mhz.has_value(); };
  if (!std::all_of(samples.begin(), samples.end(), has_clock)) return 0.0;
  double best = 0, least = HUGE_VAL;
  const auto keep_better = [&](double share, double error) {
    if (error < least) least = error, best = share;
  };
  // Clocks that were foretold tell less than those that were read.
  const std::size_t enough = options.clocked_share ? 30 : 6;
  if (const std::vector<Pair> pairs = pairs_of(samples); pairs.size() >= enough) {
    for (int percent = 0; percent <= 100; ++percent)
      keep_better(percent / 100.0, pair_error(pairs, gpu, percent / 100.0));
    return best;
  }
  if (options.clocked_share) return options.clocked_share(samples.front()->op);
  const Samples few = thinned(samples, options.seed + 2, kFewToChoose);
  for (int eighths = 0; eighths <= 8; ++eighths) {
    TRY_ASSIGN(const std::optional<double> error,
               inner_error(few, gpu, options, ResidualOptions{}, eighths / 8.0));
    // Of few samples, as far as they speak against what is usual.
    const double usual = is_product(few.front()->op.kind) ? 0.75 : 0.25;
    const double doubt = 10 / static_cast<double>(few.size());
    if (error) keep_better(eighths / 8.0, *error * (1 + doubt * std::abs(eighths / 8.0 - usual)));
  }
  return best;
}

Result<ResidualOptions> choose_residual(std::span<const Sample* const> samples, const Gpu& gpu,
                                        const FitOptions& options, double clocked_share) {
  const bool smooth = distinct_shape_count(samples) <= kMostForSmooth;
  const ResidualOptions* best = nullptr;
  double least = HUGE_VAL;
  for (const ResidualOptions& candidate : options.candidates) {
    if (candidate.kind == ResidualOptions::Kind::kSmooth && !smooth) continue;
    if (best == nullptr) best = &candidate;
    if (options.candidates.size() == 1) break;
    TRY_ASSIGN(const std::optional<double> error,
               inner_error(samples, gpu, options, candidate, clocked_share));
    if (error && *error < least) least = *error, best = &candidate;
  }
  return best != nullptr ? *best : ResidualOptions{ResidualOptions::Kind::kNone};
}

Result<FittedOperator> fit_operator(std::span<const Sample* const> samples, const Gpu& gpu,
                                    const FitOptions& options) {
  std::vector<double> held_out, by_sample(samples.size());
  TRY_ASSIGN(const double clocked_share, fit_clocked_share(samples, gpu, options));
  const auto folds = static_cast<std::uint64_t>(options.folds);
  for (std::uint64_t fold = 0; fold < folds; ++fold) {
    const auto [train, test] = split(samples, options.seed, folds, fold);
    if (train.empty() || test.empty()) continue;
    TRY_ASSIGN(const ResidualOptions residual, choose_residual(train, gpu, options, clocked_share));
    TRY_ASSIGN(const FittedOperator model, fit_model(train, gpu, residual, clocked_share));
    const std::vector<double> fold_ratios = ratios(model, test, gpu);
    held_out.insert(held_out.end(), fold_ratios.begin(), fold_ratios.end());
    std::size_t next = 0;  // test keeps the order of samples
    for (std::size_t i = 0; i < samples.size() && next < test.size(); ++i)
      if (samples[i] == test[next]) by_sample[i] = fold_ratios[next++];
  }
  TRY_ASSIGN(const ResidualOptions residual, choose_residual(samples, gpu, options, clocked_share));
  TRY_ASSIGN(FittedOperator fitted, fit_model(samples, gpu, residual, clocked_share));
  fitted.host = fit_host(samples, gpu);
  fitted.held_out = std::move(by_sample);
  constexpr double kLeastSpread = 0.003;  // clocks and counters are no better
  fitted.facts.error = mean_error(held_out);
  fitted.facts.spread = std::max(spread_of(held_out), kLeastSpread);
  fitted.facts.spread_outside = std::max(2 * fitted.facts.spread, 0.1);
  return fitted;
}

std::size_t distinct_shape_count(std::span<const Sample* const> samples) {
  std::unordered_map<Operator, bool> seen;
  for (const Sample* sample : samples) seen.emplace(sample->op, true);
  return seen.size();
}

}  // namespace foretrain
