#include "fit/collective_fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "fit/collective_base.h"
#include "network/network.h"

namespace foretrain {
namespace {

constexpr int kFolds = 5;
// Where one layout is all there is nothing tells how others differ: as sure as a datasheet, then.
constexpr double kUnseenIntra = 0.12;
constexpr double kUnseenInter = 0.24;

// What a layout's factors go by: a dispatch or combine is large by its copies, whatever its routing.
double size_of(const CollectiveSample& sample) {
  if (!is_routed(sample.kind)) return sample.bytes.value;
  return copied_bytes(sample.bytes, sample.routing(), static_cast<double>(sample.ranks)).value;
}

// Samples of other numbers of SMs than training gives to an exchange say nothing about it.
bool counts(const CollectiveSample& sample) {
  return !is_routed(sample.kind) || sample.sms == 0 || sample.sms == exchange_sms(sample.kind);
}

struct KindSamples {
  CollectiveKind kind;
  Tier tier;
  std::vector<LayoutSamples> layouts;
};

// By kind, tier (inside first) and layout.
std::vector<KindSamples> grouped(const std::vector<CollectiveSample>& samples, const Cluster& cluster) {
  std::map<std::tuple<CollectiveKind, Tier>, std::map<std::pair<std::int64_t, std::int64_t>, LayoutSamples>>
      by;
  for (const CollectiveSample& sample : samples) {
    if (!counts(sample)) continue;
    const PlacedGroup placed = placed_alone(sample.ranks, sample.ranks_per_node, cluster);
    const Tier tier = placed.crosses_nodes() ? Tier::kInter : Tier::kIntra;
    LayoutSamples& layout = by[{sample.kind, tier}][{sample.ranks, sample.ranks_per_node}];
    layout.ranks = sample.ranks;
    layout.ranks_per_node = sample.ranks_per_node;
    layout.placed = placed;
    layout.samples.push_back(&sample);
  }
  std::vector<KindSamples> out;
  for (auto& [key, layouts] : by) {
    KindSamples kind{std::get<0>(key), std::get<1>(key), {}};
    for (auto& [shape, layout] : layouts) {
      if (layout.samples.size() < kFewestCollectiveSamples) continue;
      std::stable_sort(
          layout.samples.begin(), layout.samples.end(),
          [](const CollectiveSample* a, const CollectiveSample* b) { return size_of(*a) < size_of(*b); });
      kind.layouts.push_back(std::move(layout));
    }
    if (!kind.layouts.empty()) out.push_back(std::move(kind));
  }
  return out;
}

double middle(double low, double high) { return std::exp((std::log(low) + std::log(high)) / 2); }

// The factor with the least mean of |factor / ratio - 1|: the median of the ratios (given as logarithms),
// each weighing 1 / ratio; between the two ratios around it.
double best_factor(std::vector<double> logs) {
  std::sort(logs.begin(), logs.end());
  double all = 0, below = 0;
  for (const double log : logs) all += std::exp(-log);
  for (std::size_t i = 0; i + 1 < logs.size(); ++i)
    if ((below += std::exp(-logs[i])) >= all / 2) return std::exp((logs[i] + logs[i + 1]) / 2);
  return std::exp(logs.back());
}

// Sizes that lie further apart than this are a sweep (nccl-tests doubles them), where each stands for itself.
constexpr double kSweepRatio = 1.1;
constexpr std::size_t kFewestInBin = 8;

bool is_sweep(const Samples& samples) {
  const double first = size_of(*samples.front()), last = size_of(*samples.back());
  return std::log(last / first) > std::log(kSweepRatio) * static_cast<double>(samples.size() - 1);
}

// Departures (logarithms) of samples that ascend by size become a layout's factors. Equal sizes share a bin.
FittedLayout with_factors(const LayoutSamples& layout, const Samples& samples,
                          const std::vector<double>& departures, std::size_t bins) {
  FittedLayout out{.ranks = layout.ranks, .ranks_per_node = layout.ranks_per_node};
  const std::size_t n = samples.size();
  std::size_t begin = 0;
  for (std::size_t bin = 1; bin <= bins; ++bin) {
    std::size_t end = std::max(begin, n * bin / bins);
    while (end > begin && end < n && size_of(*samples[end]) == size_of(*samples[end - 1])) ++end;
    if (end == begin) continue;
    const double bytes = rounded(middle(size_of(*samples[begin]), size_of(*samples[end - 1])), 7);
    if (out.bytes.empty() || bytes > out.bytes.back()) {
      const auto from = departures.begin() + static_cast<std::ptrdiff_t>(begin);
      out.bytes.push_back(bytes);
      out.factor.push_back(rounded(best_factor({from, from + static_cast<std::ptrdiff_t>(end - begin)})));
    }
    begin = end;
  }
  return out;
}

std::size_t shape_of(const CollectiveSample& sample) {
  return static_cast<std::size_t>((sample.hidden * 100'003 + sample.experts) * 1009 + sample.top_k);
}

// Samples of a dispatch or combine that have one shape, of rows and experts, are judged together: a model that
// is asked about mostly has another one.
bool has_shapes(const Samples& samples) {
  return is_routed(samples.front()->kind) &&
         std::any_of(samples.begin(), samples.end(),
                     [&](const CollectiveSample* s) { return shape_of(*s) != shape_of(*samples.front()); });
}

// Which fold each sample is judged in: fixed by its place or its shape, as good as random (a 64-bit mix).
std::vector<int> folds_of(const Samples& samples) {
  const bool by_shape = has_shapes(samples);
  std::vector<int> folds;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    std::uint64_t x = (by_shape ? shape_of(*samples[i]) : i) + 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    folds.push_back(static_cast<int>((x ^ (x >> 31)) % kFolds));
  }
  return folds;
}

// The base for judging a fold. Two figures of a whole collective cannot follow one sample, and are those of all
// samples; three can follow a shape, and are fitted anew without it.
BaseModel base_of(const BaseModel& base, const LayoutSamples& layout, const Samples& used) {
  if (!has_shapes(layout.samples)) return base;
  BaseModel without = base;
  LayoutSamples others = layout;
  others.samples = used;
  fit_base(without, {others});
  return without;
}

// Departures of `judged` from a model whose layout is fitted on `used`; both ascend by size.
std::vector<double> left_over(const BaseModel& base, const LayoutSamples& layout, const Samples& used,
                              const Samples& judged, std::size_t bins) {
  std::vector<double> departures;
  for (const CollectiveSample* s : used) departures.push_back(base.log_departure(layout, *s));
  BaseModel full = base;
  full.fit().layouts = {with_factors(layout, used, departures, bins)};
  std::vector<double> out;
  for (const CollectiveSample* s : judged) out.push_back(full.log_departure(layout, *s));
  return out;
}

double mean_error(const std::vector<double>& logs) {
  double sum = 0;
  for (const double log : logs) sum += std::abs(std::expm1(-log));  // predicted / measured - 1
  return sum / static_cast<double>(logs.size());
}

// What is left over of every sample, each judged in its fold.
std::vector<double> cross_validated(const BaseModel& base, const LayoutSamples& layout,
                                    const Samples& samples, std::size_t bins) {
  std::vector<double> out(samples.size());
  const std::vector<int> folds = folds_of(samples);
  for (int fold = 0; fold < kFolds; ++fold) {
    Samples used, judged;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (folds[i] == fold)
        judged.push_back(samples[i]), places.push_back(i);
      else
        used.push_back(samples[i]);
    }
    if (judged.empty()) continue;
    if (used.empty()) used = judged;
    const std::vector<double> left = left_over(base_of(base, layout, used), layout, used, judged, bins);
    for (std::size_t i = 0; i < places.size(); ++i) out[places[i]] = left[i];
  }
  return out;
}

std::size_t best_bins(const BaseModel& base, const LayoutSamples& layout, const Samples& samples) {
  if (is_sweep(samples)) return samples.size();
  const std::size_t most = std::max<std::size_t>(1, samples.size() / kFewestInBin);
  std::size_t best = std::min(kBinChoices.front(), most);
  double least_error = mean_error(cross_validated(base, layout, samples, best));
  for (const std::size_t choice : kBinChoices) {
    const std::size_t bins = std::min(choice, most);
    if (bins <= best) continue;
    const double error = mean_error(cross_validated(base, layout, samples, bins));
    if (error < least_error * 0.98) best = bins, least_error = error;  // more bins have to earn their place
  }
  return best;
}

double spread_of(std::vector<double> logs) {
  for (double& log : logs) log = std::abs(log);
  const auto at = static_cast<std::ptrdiff_t>(0.8 * static_cast<double>(logs.size() - 1));
  std::nth_element(logs.begin(), logs.begin() + at, logs.end());
  return logs[static_cast<std::size_t>(at)] / kZ80;
}

double unseen_error(const Cluster& cluster, const KindSamples& kind, std::size_t left_out,
                    const FittedCollective* intra) {
  std::vector<LayoutSamples> others = kind.layouts;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(left_out));
  BaseModel base(cluster, kind.kind, kind.tier, intra);
  fit_base(base, others);
  const LayoutSamples& layout = kind.layouts[left_out];
  std::vector<double> logs;
  for (const CollectiveSample* s : layout.samples) logs.push_back(base.log_departure(layout, *s));
  return mean_error(logs);
}

const FittedCollective* intra_of(const std::vector<FittedCollective>& fitted, const KindSamples& kind) {
  if (kind.tier == Tier::kIntra) return nullptr;
  for (const FittedCollective& f : fitted)
    if (f.kind == kind.kind && f.tier == Tier::kIntra) return &f;
  return nullptr;
}

using BySource = std::map<std::string, std::vector<double>>;

// What is left over of every sample of a source, judged in its fold: the number of bins is chosen anew without
// the fold that judges.
BySource left_over_at_random(const BaseModel& base, const LayoutSamples& layout) {
  BySource out;
  const std::vector<int> folds = folds_of(layout.samples);
  for (int fold = 0; fold < kFolds; ++fold) {
    Samples used, judged;
    for (std::size_t k = 0; k < layout.samples.size(); ++k)
      (folds[k] == fold ? judged : used).push_back(layout.samples[k]);
    if (used.empty() || judged.empty()) continue;
    const BaseModel own = base_of(base, layout, used);
    const std::vector<double> left = left_over(own, layout, used, judged, best_bins(own, layout, used));
    for (std::size_t k = 0; k < judged.size(); ++k) out[judged[k]->source].push_back(left[k]);
  }
  return out;
}

// The error on a source's samples, `own`, of a fit on other sources' smaller messages, where there are enough.
std::optional<double> error_above(BaseModel low, const LayoutSamples& layout, const Samples& own) {
  LayoutSamples below = layout;
  std::erase_if(below.samples, [&](const CollectiveSample* s) {
    return size_of(*s) >= size_of(*own.front()) || s->source == own.front()->source;
  });
  if (below.samples.size() < kFewestCollectiveSamples) return std::nullopt;
  fit_base(low, {below});
  const std::size_t bins = best_bins(low, layout, below.samples);
  return mean_error(left_over(low, layout, below.samples, own, bins));
}

}  // namespace

std::vector<FittedCollective> fit_collectives(const std::vector<CollectiveSample>& samples,
                                              const Cluster& cluster) {
  std::vector<FittedCollective> fitted;
  for (const KindSamples& kind : grouped(samples, cluster)) {
    const FittedCollective* intra = intra_of(fitted, kind);
    BaseModel base(cluster, kind.kind, kind.tier, intra);
    fit_base(base, kind.layouts);
    FittedCollective out = base.fit();
    double unseen = 0;
    for (std::size_t i = 0; i < kind.layouts.size(); ++i) {
      const LayoutSamples& layout = kind.layouts[i];
      const std::size_t bins = best_bins(base, layout, layout.samples);
      const std::vector<double> left = cross_validated(base, layout, layout.samples, bins);
      std::vector<double> departures;
      for (const CollectiveSample* s : layout.samples) departures.push_back(base.log_departure(layout, *s));
      FittedLayout known = with_factors(layout, layout.samples, departures, bins);
      known.samples = static_cast<std::int64_t>(layout.samples.size());
      known.error = rounded(mean_error(left), 3);
      known.spread = rounded(spread_of(left), 3);
      out.layouts.push_back(std::move(known));
      if (kind.layouts.size() > 1) unseen += unseen_error(cluster, kind, i, intra);
    }
    out.unseen_error = kind.layouts.size() > 1 ? rounded(unseen / static_cast<double>(kind.layouts.size()), 3)
                       : kind.tier == Tier::kIntra ? kUnseenIntra
                                                   : kUnseenInter;
    fitted.push_back(std::move(out));
  }
  return fitted;
}

std::vector<CollectiveStudyRow> study_collectives(const std::vector<CollectiveSample>& samples,
                                                  const Cluster& cluster) {
  std::vector<CollectiveStudyRow> rows;
  const std::vector<FittedCollective> fitted = fit_collectives(samples, cluster);
  for (const KindSamples& kind : grouped(samples, cluster)) {
    const FittedCollective* intra = intra_of(fitted, kind);
    const BaseModel stated(cluster, kind.kind, kind.tier, intra);
    BaseModel base = stated;
    fit_base(base, kind.layouts);
    for (std::size_t i = 0; i < kind.layouts.size(); ++i) {
      const LayoutSamples& layout = kind.layouts[i];
      std::map<std::string, Samples> by_source;
      for (const CollectiveSample* s : layout.samples) by_source[s->source].push_back(s);
      BySource random = left_over_at_random(base, layout);
      const double unseen = kind.layouts.size() > 1 ? unseen_error(cluster, kind, i, intra) : -1;
      for (const auto& [source, own] : by_source) {
        CollectiveStudyRow row{kind.kind, layout.ranks, layout.ranks_per_node, source, own.size()};
        if (!random[source].empty()) row.random = mean_error(random[source]);
        row.unseen_layout = unseen;
        if (const auto larger = error_above(stated, layout, own)) row.larger = *larger;
        rows.push_back(row);
      }
    }
  }
  return rows;
}

}  // namespace foretrain
