#include "samples/collective_clean.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>
#include <unordered_map>

#include "base/check.h"
#include "base/text.h"
#include "samples/collective_mode.h"

namespace foretrain {
namespace {

constexpr double kMargin = 0.05;
constexpr std::size_t kMinCopies = 10;
constexpr double kCopiedShare = 0.5;
constexpr double kFlatBand = 0.02, kFlatShare = 0.1, kFlatRange = 1.25, kFlatRatio = 2;
constexpr std::size_t kMinFlat = 8;
constexpr double kFarFromMode = 1.2, kFarScatter = 5;
constexpr std::size_t kStep = 6;
constexpr double kFarFromNeighbours = 1.75, kNeighbourScatter = 2;
constexpr std::size_t kSide = 2;  // neighbours either side
constexpr std::size_t kMinMode = 10;
constexpr double kModeShare = 0.05, kModeDistance = 2;
constexpr double kDistrust = 0.3, kDisagree = 0.2;
constexpr std::size_t kMinTrusted = 8;

enum class Reason { kNone, kDuplicate, kImpossible, kFlat, kSlowMode, kFastMode, kOutlier, kDistrusted };
constexpr std::array<std::string_view, 8> kReasonNames = {
    "none", "duplicate", "impossible", "flat", "slow mode", "fast mode", "outlier", "distrusted"};

struct Row {
  const CollectiveSample* sample;
  double size;            // logarithm of the bytes
  double time;            // logarithm of the seconds
  std::size_t source;     // index
  bool is_first = false;  // of its source
  Reason reason = Reason::kNone;
  double deviation = 0;  // from the mode or the neighbours, as a logarithm
};
using Rows = std::vector<Row*>;

Rows by_size(std::span<Row> rows) {
  Rows left;
  for (Row& row : rows)
    if (row.reason == Reason::kNone) left.push_back(&row);
  std::stable_sort(left.begin(), left.end(), [](const Row* a, const Row* b) { return a->size < b->size; });
  return left;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double share_of(std::size_t part, std::size_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

// Equal times happen by chance where they are coarse ("10.25"), hardly to eight digits, and not for half of a
// source's rows.
void mark_duplicates(std::span<Row> rows, std::size_t sources) {
  std::map<std::pair<double, double>, std::size_t> seen;
  Rows repeats;
  std::vector<std::size_t> count(sources), repeated(sources);
  for (Row& row : rows) {
    ++count[row.source];
    if (seen.emplace(std::pair(row.size, row.time), row.source).second) continue;
    repeats.push_back(&row);
    ++repeated[row.source];
  }
  for (Row* row : repeats) {
    const double us = row->sample->seconds.value * 1e6;
    const bool is_distinct = fmt::format("{:.7g}", us) != fmt::format("{:.12g}", us);
    const bool is_copy = repeated[row->source] >= kMinCopies &&
                         share_of(repeated[row->source], count[row->source]) >= kCopiedShare;
    if (is_distinct || is_copy) row->reason = Reason::kDuplicate;
  }
}

void mark_impossible(std::span<Row> rows, const LinkBounds& bounds) {
  for (Row& row : rows)
    if (row.reason == Reason::kNone &&
        row.sample->seconds.value < (1 - kMargin) * least_time(*row.sample, bounds).value)
      row.reason = Reason::kImpossible;
}

// The rows of the time that most share; empty where they grow with their size, or where smaller messages take
// no longer.
std::span<Row* const> flat_level(const Rows& by_time) {
  std::size_t best = 0, best_begin = 0;
  for (std::size_t begin = 0, end = 0; begin < by_time.size(); ++begin) {
    while (end < by_time.size() && by_time[end]->time - by_time[begin]->time <= 2 * kFlatBand) ++end;
    if (end - begin > best) best = end - begin, best_begin = begin;
  }
  const auto level = std::span(by_time).subspan(best_begin, best);
  if (best < kMinFlat || share_of(best, by_time.size()) < kFlatShare) return {};
  const auto [least, most] = std::minmax_element(
      level.begin(), level.end(), [](const Row* a, const Row* b) { return a->size < b->size; });
  if ((*most)->size - (*least)->size < std::log(kFlatRange)) return {};
  std::vector<double> others;
  for (std::size_t i = 0; i < by_time.size(); ++i)
    if ((i < best_begin || i >= best_begin + best) && by_time[i]->size <= (*most)->size)
      others.push_back(by_time[i]->time);
  if (others.empty() || median(std::move(others)) < level.back()->time + std::log(kFlatRatio)) return {};
  return level;
}

void mark_flat(std::span<Row> rows) {
  Rows by_time = by_size(rows);
  std::stable_sort(by_time.begin(), by_time.end(),
                   [](const Row* a, const Row* b) { return a->time < b->time; });
  while (!by_time.empty()) {
    const auto level = flat_level(by_time);
    if (level.empty()) return;
    for (Row* row : level) row->reason = Reason::kFlat;
    std::erase_if(by_time, [](const Row* row) { return row->reason == Reason::kFlat; });
  }
}

// Whether the rows next to this one, all of one side, go with it: a step in the curve.
bool is_step(const Rows& rows, std::size_t at, double within) {
  const auto agrees = [&](std::size_t i) {
    const double longer = rows[i]->time - rows[at]->time, larger = rows[i]->size - rows[at]->size;
    return longer > std::min(0.0, larger) - within && longer < std::max(0.0, larger) + within;
  };
  const auto all = [&](std::size_t begin) {
    for (std::size_t i = begin; i < begin + kStep; ++i)
      if (!agrees(i)) return false;
    return true;
  };
  return (at >= kStep && all(at - kStep)) || (at + kStep < rows.size() && all(at + 1));
}

// Rows far off the mode of their size; those without a mode are given back.
Rows mark_off_mode(const Rows& rows, Rows& off) {
  if (rows.empty()) return {};
  std::vector<TimedSize> points;
  for (const Row* row : rows) points.push_back({row->size, row->time});
  const Modes modes(points);
  Rows with_mode, without;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& mode = modes.near(points[i]);
    (mode ? with_mode : without).push_back(rows[i]);
    if (mode) rows[i]->deviation = mode->deviation(points[i]);
  }
  const double far = std::max(std::log(kFarFromMode), kFarScatter * modes.scatter());
  for (std::size_t i = 0; i < with_mode.size(); ++i) {
    Row* row = with_mode[i];
    const double limit = row->is_first && row->deviation > 0 ? far / 2 : far;
    if (std::abs(row->deviation) > limit && !is_step(with_mode, i, far / 2)) off.push_back(row);
  }
  return without;
}

// As a logarithm, how far from what the neighbours in size let expect: a time grows with the size at least
// not at all and at most in proportion, and between the two nothing deviates.
double neighbour_deviation(const Rows& rows, std::size_t at) {
  std::vector<double> low, high;
  const std::size_t begin = at > kSide ? at - kSide : 0, end = std::min(at + kSide + 1, rows.size());
  for (std::size_t i = begin; i < end; ++i) {
    if (i == at) continue;
    const double grown = rows[i]->time + rows[at]->size - rows[i]->size;
    low.push_back(std::min(rows[i]->time, grown));
    high.push_back(std::max(rows[i]->time, grown));
  }
  const double least = median(std::move(low)), most = median(std::move(high)), time = rows[at]->time;
  return time < least ? time - least : time > most ? time - most : 0;
}

void mark_far_from_neighbours(const Rows& rows, Rows& off) {
  if (rows.size() < kMinTrusted) return;
  std::vector<double> sizes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i]->deviation = neighbour_deviation(rows, i);
    sizes.push_back(std::abs(rows[i]->deviation));
  }
  const auto ninth = sizes.begin() + static_cast<std::ptrdiff_t>(0.9 * static_cast<double>(sizes.size() - 1));
  std::nth_element(sizes.begin(), ninth, sizes.end());
  const double far = std::max(std::log(kFarFromNeighbours), kNeighbourScatter * *ninth);
  for (Row* row : rows)
    if (std::abs(row->deviation) > far) off.push_back(row);
}

// Many on one side are a mode of their own where some are far off; where nearly all are near, the link is
// noisy, and noise is for the fit to tell: only what is far goes, as do the few.
void name_reasons(const Rows& off, std::span<const std::size_t> rows_of_source) {
  std::vector<std::array<std::size_t, 2>> count(rows_of_source.size()), far(rows_of_source.size());
  const auto is_far = [](const Row& row) { return std::abs(row.deviation) > std::log(kModeDistance); };
  for (const Row* row : off) {
    ++count[row->source][row->deviation > 0];
    far[row->source][row->deviation > 0] += is_far(*row);
  }
  const auto is_many = [&](std::size_t n, const Row& row) {
    return n >= kMinMode && share_of(n, rows_of_source[row.source]) >= kModeShare;
  };
  for (Row* row : off) {
    if (is_many(far[row->source][row->deviation > 0], *row))
      row->reason = row->deviation > 0 ? Reason::kSlowMode : Reason::kFastMode;
    else if (is_far(*row) || !is_many(count[row->source][row->deviation > 0], *row))
      row->reason = Reason::kOutlier;
  }
}

void mark_group(std::span<Row> rows, std::size_t sources, const LinkBounds& bounds) {
  mark_duplicates(rows, sources);
  mark_impossible(rows, bounds);
  mark_flat(rows);
  const Rows left = by_size(rows);
  const std::size_t total = rows.size();
  std::size_t untrue = 0;
  for (const Row& row : rows) untrue += row.reason == Reason::kImpossible || row.reason == Reason::kFlat;

  std::vector<std::size_t> rows_of_source(sources);
  for (const Row& row : rows) ++rows_of_source[row.source];
  Rows off;
  const Rows sparse = mark_off_mode(left, off);
  mark_far_from_neighbours(sparse, off);
  name_reasons(off, rows_of_source);

  if (left.empty() || share_of(untrue, total) <= kDistrust) return;
  if (left.size() >= kMinTrusted && share_of(off.size(), left.size()) <= kDisagree) return;
  for (Row* row : left) row->reason = Reason::kDistrusted;
}

struct Group {
  std::string label;
  std::vector<std::size_t> members;
};

std::vector<CollectiveRejection> summarise(const std::string& label,
                                           const std::vector<std::string_view>& sources,
                                           std::span<const Row> rows) {
  std::vector<std::array<CollectiveRejection, kReasonNames.size()>> found(sources.size());
  std::vector<std::size_t> count(sources.size());
  for (const Row& row : rows) {
    ++count[row.source];
    CollectiveRejection& rejection = found[row.source][static_cast<std::size_t>(row.reason)];
    if (rejection.count++ > 0) continue;
    rejection.layout = label;
    rejection.source = sources[row.source];
    rejection.reason = kReasonNames[static_cast<std::size_t>(row.reason)];
    rejection.example =
        fmt::format("{:.0f} bytes: {}", row.sample->bytes.value, human_seconds(row.sample->seconds));
  }
  std::vector<CollectiveRejection> rejections;
  for (std::size_t s = 0; s < sources.size(); ++s)
    for (std::size_t i = 1; i < found[s].size(); ++i)
      if (found[s][i].count > 0) {
        found[s][i].group = count[s];
        rejections.push_back(std::move(found[s][i]));
      }
  return rejections;
}

}  // namespace

Seconds least_time(const CollectiveSample& sample, const LinkBounds& bounds) {
  const std::int64_t joined = std::max<std::int64_t>(1, bounds.domain_nodes);
  const bool in_one = sample.nodes() <= joined;
  const auto nodes = static_cast<double>(joined);
  const BytesPerSecond rate = in_one ? bounds.of_rank : bounds.of_node * nodes;
  if (rate.value <= 0) return Seconds(0);
  const auto parts = static_cast<double>(in_one ? sample.ranks : (sample.nodes() + joined - 1) / joined);
  const Bytes from_others = sample.bytes * ((parts - 1) / parts);
  switch (sample.kind) {
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
      return from_others / rate;
    case CollectiveKind::kAllToAll:
      return from_others * (in_one ? 1.0 : static_cast<double>(sample.ranks_per_node) * nodes) / rate;
    case CollectiveKind::kDispatch:
    case CollectiveKind::kCombine:
    case CollectiveKind::kHybridDispatch:
    case CollectiveKind::kHybridCombine:
      return copied_bytes(sample.bytes, sample.routing(), parts) * ((parts - 1) / parts) *
             (in_one ? 1.0 : static_cast<double>(sample.ranks_per_node) * nodes) / rate;
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kSendReceive:
      return sample.bytes / rate;
  }
  CHECK_THAT(false);
}

CollectiveCleanResult clean(std::vector<CollectiveSample> samples, const LinkBounds& bounds) {
  std::vector<Group> groups;
  std::unordered_map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto [entry, added] = index.emplace(layout_label(samples[i]), groups.size());
    if (added) groups.push_back({entry->first, {}});
    groups[entry->second].members.push_back(i);
  }

  CollectiveCleanResult result;
  std::vector<bool> rejected(samples.size());
  for (const Group& group : groups) {
    std::unordered_map<std::string_view, std::size_t> source_index;
    std::vector<std::string_view> sources;
    std::vector<Row> rows;
    rows.reserve(group.members.size());
    for (const std::size_t i : group.members) {
      const CollectiveSample& s = samples[i];
      const auto [entry, added] = source_index.emplace(s.source, sources.size());
      if (added) sources.push_back(s.source);
      rows.push_back({&s, std::log(s.bytes.value), std::log(s.seconds.value), entry->second, added});
    }
    mark_group(rows, sources.size(), bounds);
    for (std::size_t j = 0; j < rows.size(); ++j)
      rejected[group.members[j]] = rows[j].reason != Reason::kNone;
    for (CollectiveRejection& rejection : summarise(group.label, sources, rows))
      result.rejections.push_back(std::move(rejection));
  }
  for (std::size_t i = 0; i < samples.size(); ++i)
    (rejected[i] ? result.rejected : result.kept).push_back(std::move(samples[i]));
  return result;
}

std::string rejections_text(const std::vector<CollectiveRejection>& rejections) {
  std::size_t width = 0;
  for (const CollectiveRejection& r : rejections) width = std::max(width, r.layout.size());
  std::string text;
  for (const CollectiveRejection& r : rejections)
    text += fmt::format("{:<{}}  {:>6} of {:>6}  {:<10}  {:<28}  {}\n", r.layout, width,
                        with_commas(static_cast<std::int64_t>(r.count)),
                        with_commas(static_cast<std::int64_t>(r.group)), r.reason, r.example, r.source);
  return text;
}

}  // namespace foretrain
