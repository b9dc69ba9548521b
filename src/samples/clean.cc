#include "samples/clean.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "operators/operator_text.h"
#include "samples/host_share.h"

namespace foretrain {
namespace {

constexpr double kMargin = 0.1;
constexpr std::size_t kMinCopies = 10;  // equal times happen by chance, tens of them do not
constexpr double kCopiedShare = 0.05;
constexpr double kStall = 0.75;
constexpr std::size_t kWindow = 64;
constexpr double kFloorRange = 8;
constexpr double kFloorSpan = 1.3;  // equally long: within this factor of the floor
constexpr double kFloorUs = 100;
constexpr double kFloorClear = 2;  // times the floor: launches no longer show
constexpr double kPartialShare = 0.5;
constexpr double kGrowth = 0.3;
constexpr std::size_t kMinLines = 5;
constexpr double kDistrust = 0.3;
constexpr double kFar = 1.75;
constexpr double kFarScatter = 2;  // times what nine rows of ten keep within
constexpr std::size_t kNeighbours = 8;
constexpr std::size_t kReach = 100;  // neighbours are looked for among so many rows of less and of more work

enum class Reason {
  kNone,
  kDuplicate,
  kImpossible,
  kCopied,
  kFlat,
  kFloor,
  kBimodal,
  kOutlier,
  kDistrusted,
  kPartial
};
constexpr std::array<std::string_view, 10> kReasonNames = {"none",       "duplicate", "impossible", "copied",
                                                           "flat",       "floor",     "bimodal",    "outlier",
                                                           "distrusted", "partial"};

struct Row {
  const Sample* sample;
  double seconds;
  double work;      // seconds at peak rates
  double slowness;  // seconds / work
  Reason reason = Reason::kNone;
  std::array<double, 6> place{};  // logarithms of the sizes
};
using Rows = std::vector<Row*>;

Row make_row(const Sample& sample, const Gpu& gpu) {
  Row row{&sample, sample.us * 1e-6, 0, 0};
  const FlopsPerSecond rate = gpu.rate(sample.op.dtype);
  const double compute = rate.value > 0 ? flops(sample.op).value / rate.value : 0;
  const double least = least_bytes(sample.op);
  row.work = std::max({compute, least / gpu.hbm.value, 1e-12});
  row.slowness = row.seconds / row.work;
  const double beyond_cache = std::max(0.0, least - gpu.l2.value) / gpu.hbm.value;
  if (row.seconds < (1 - kMargin) * std::max(compute, beyond_cache)) row.reason = Reason::kImpossible;
  for (std::size_t i = 0; i < row.place.size(); ++i)
    row.place[i] = std::log2(static_cast<double>(std::max<std::int64_t>(sample.op.flat()[i], 1)));
  return row;
}

Rows remaining(std::span<Row> rows) {
  Rows left;
  for (Row& row : rows)
    if (row.reason == Reason::kNone) left.push_back(&row);
  return left;
}

// The value below which a share of them lie.
double quantile(std::vector<double> values, double share) {
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

template <class Container, class Get>
double quantile_of(const Container& rows, double share, Get get) {
  std::vector<double> values;
  for (const Row* row : rows) values.push_back(get(*row));
  return quantile(std::move(values), share);
}

// Repeats of a shape take the same time by chance where times are coarse ("702.2"), hardly to eight digits.
bool is_distinct(const Sample& sample) {
  return sample.host_us || sample.clock_mhz || sample.power_w ||
         fmt::format("{:.7g}", sample.us) != fmt::format("{}", sample.us);
}

void mark_duplicates(std::span<Row> rows) {
  struct Hash {
    std::size_t operator()(const Row* row) const {
      return hash_of(row->sample->op) ^ std::hash<double>()(row->sample->us);
    }
  };
  struct Equal {
    bool operator()(const Row* a, const Row* b) const { return *a->sample == *b->sample; }
  };
  std::unordered_set<const Row*, Hash, Equal> seen;
  for (Row& row : rows)
    if (is_distinct(*row.sample) && !seen.insert(&row).second) row.reason = Reason::kDuplicate;
}

// Times of forwards, in microseconds, by shape.
using Times = std::unordered_map<Operator, std::vector<double>>;

// The forward of the same shape, however many kernels it is, on whatever gradients its backward runs.
Operator forward_of(Operator op) {
  op.pass = PassKind::kForward;
  op.launches = 1;
  if (op.impl == Impl::kZeroGrad) op.impl = Impl::kAten;
  return op;
}

void mark_copies(std::span<Row> rows, const Times& forward) {
  Rows copies;
  for (Row& row : rows) {
    if (row.sample->op.pass != PassKind::kBackward) return;
    const auto times = forward.find(forward_of(row.sample->op));
    if (times == forward.end()) continue;
    const auto& [begin, end] = std::pair(times->second.begin(), times->second.end());
    if (std::find(begin, end, row.sample->us) != end) copies.push_back(&row);
  }
  if (copies.size() < kMinCopies ||
      static_cast<double>(copies.size()) < kCopiedShare * static_cast<double>(rows.size()))
    return;
  for (Row* row : copies)
    if (row->reason == Reason::kNone || row->reason == Reason::kImpossible) row->reason = Reason::kCopied;
}

// In order of work, each row against the latest rows that were accepted. Where launches no longer matter
// (three times the group's floor) slowness falls slowly if at all; a row that leaves the fastest of those
// before it far behind has left out a part of its work.
void mark_stalled(const Rows& by_work, double floor) {
  std::deque<const Row*> accepted;
  double reached = 0;
  for (Row* row : by_work) {
    if (accepted.size() == kWindow && row->seconds > 3 * floor && row->slowness < kStall * reached) {
      row->reason = Reason::kFlat;
      continue;
    }
    accepted.push_back(row);
    if (accepted.size() <= kWindow) continue;
    accepted.pop_front();
    reached = quantile_of(accepted, 0, [](const Row& r) { return r.slowness; });
  }
}

// Measured over what the roofline says, for a backward against the forward of its shape.
void mark_partial(std::span<Row> rows, const Times& forward, const Gpu& gpu) {
  const auto bound = [&](const Operator& op) {
    const double rate = gpu.rate(op.dtype).value;
    return std::max(rate > 0 ? flops(op).value / rate : 0, bytes(op).value / gpu.hbm.value);
  };
  const Rows left = remaining(rows);
  std::vector<double> ratios;
  for (const Row* row : left) {
    const Operator& op = row->sample->op;
    if (op.pass != PassKind::kBackward || op.impl == Impl::kEager) return;
    const auto times = forward.find(forward_of(op));
    if (times == forward.end()) continue;
    ratios.push_back(row->sample->us / quantile(times->second, 0.5) * bound(forward_of(op)) / bound(op));
  }
  if (ratios.size() < kWindow || quantile(std::move(ratios), 0.5) >= kPartialShare) return;
  for (Row* row : left) row->reason = Reason::kPartial;
}

// All of them, but for a tenth at either end, within kFloorSpan of the floor.
bool at_floor(std::span<Row* const> rows, double floor) {
  const auto seconds = [](const Row& r) { return r.seconds; };
  return quantile_of(rows, 0.1, seconds) > floor / kFloorSpan &&
         quantile_of(rows, 0.9, seconds) < floor * kFloorSpan;
}

// The longest run of the smallest rows, a few at a time, that stays at the floor.
void mark_floor(const Rows& by_work) {
  const std::size_t few = kWindow / 2;
  if (by_work.size() < 2 * kWindow) return;
  const std::span<Row* const> rows(by_work);
  const double floor = quantile_of(rows.first(few), 0.5, [](const Row& r) { return r.seconds; });
  if (floor < kFloorUs * 1e-6) return;
  std::size_t end = 0;
  while (end + few <= rows.size() && at_floor(rows.subspan(end, few), floor)) end += few;
  if (end < kWindow || rows[end - 1]->work < kFloorRange * rows[0]->work) return;
  if (end + few > rows.size()) return;  // nothing stands above it: the whole group is flat
  for (Row* row : rows)
    if (row->seconds < kFloorClear * floor) row->reason = Reason::kFloor;
  for (Row* row : rows.first(end)) row->reason = Reason::kFloor;
}

// Of a chain of kernels without what the shortest of kernels would take (a quarter of it at the least is kept): a
// router's backward is 26 of them, and its work shows only beyond.
double beyond_launches(const Row& row) {
  constexpr double kShortest = 2e-6;
  const double others = kShortest * static_cast<double>(std::max(row.sample->op.launches, 1) - 1);
  return std::max(row.seconds - others, 0.25 * row.seconds);
}

// Exponent of the work in the time, by least squares on logarithms; none where the work hardly varies.
std::optional<double> growth(std::span<const Row* const> rows) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const Row* row : rows) {
    const double u = std::log(row->work), v = std::log(beyond_launches(*row));
    n += 1, x += u, y += v, xx += u * u, xy += u * v;
  }
  const double variance = xx / n - x * x / (n * n);
  if (rows.size() < 3 || variance < 0.02) return std::nullopt;
  return (xy / n - x * y / (n * n)) / variance;
}

// Growth along one size, the others fixed: the median over all such lines; none where there are few.
std::optional<double> growth_along(std::span<Row* const> rows, std::size_t size) {
  std::unordered_map<Operator, std::vector<const Row*>> lines;
  for (const Row* row : rows) {
    Operator op = row->sample->op;
    FlatSizes others = op.flat();
    others[size] = 0;
    op.set_flat(others);
    lines[op].push_back(row);
  }
  std::vector<double> slopes;
  for (const auto& [op, line] : lines)
    if (const auto slope = growth(line)) slopes.push_back(*slope);
  if (slopes.size() < kMinLines) return std::nullopt;
  return quantile(std::move(slopes), 0.5);
}

// Attention makes as many scores whatever its heads' width, and where products are fast these take the time: narrow
// heads of a B200 hardly run faster than wide ones.
bool may_be_flat(const Operator& op, std::size_t size) {
  constexpr std::string_view kWidths[] = {"head_dim", "qk_dim", "v_dim"};
  const auto names = size_names(op.kind);
  return is_attention(op.kind) && size < names.size() &&
         std::find(std::begin(kWidths), std::end(kWidths), names[size]) != std::end(kWidths);
}

// Judged on the larger half, where launches matter least.
bool grows(std::span<Row* const> by_work) {
  const auto larger = by_work.subspan(by_work.size() / 2);
  if (growth(std::vector<const Row*>(larger.begin(), larger.end())).value_or(1) < kGrowth) return false;
  for (std::size_t i = 0; i < 6; ++i)
    if (!may_be_flat(larger.front()->sample->op, i) && growth_along(larger, i).value_or(1) < kGrowth)
      return false;
  return true;
}

double distance(const Row& a, const Row& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.place.size(); ++i)
    sum += (a.place[i] - b.place[i]) * (a.place[i] - b.place[i]);
  return sum;
}

// How much slower or faster a row is than its neighbours in size let expect, as a logarithm. Time grows with
// work at least not at all and at most in proportion: between the two nothing deviates. Rows that libraries
// load in another way, with kernels of their own, are no neighbours.
double deviation(const Rows& by_work, std::size_t at) {
  const Row& row = *by_work[at];
  const std::size_t begin = at > kReach ? at - kReach : 0, end = std::min(at + kReach + 1, by_work.size());
  std::vector<std::pair<double, std::size_t>> near;
  for (std::size_t i = begin; i < end; ++i)
    if (i != at && row_loads(by_work[i]->sample->op) == row_loads(row.sample->op))
      near.emplace_back(distance(row, *by_work[i]), i);
  if (near.size() < kNeighbours) return 0;
  const auto count = std::min(near.size(), kNeighbours);
  std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(count), near.end());
  std::vector<double> low, high;
  for (std::size_t i = 0; i < count; ++i) {
    const Row& neighbour = *by_work[near[i].second];
    const double grown = neighbour.slowness * row.work;
    low.push_back(std::min(neighbour.seconds, grown));
    high.push_back(std::max(neighbour.seconds, grown));
  }
  const double least = quantile(std::move(low), 0.5), most = quantile(std::move(high), 0.5);
  if (row.seconds < least) return std::log(row.seconds / least);
  return row.seconds > most ? std::log(row.seconds / most) : 0;
}

void mark_outliers(const Rows& by_work) {
  if (by_work.size() <= kNeighbours) return;
  std::vector<double> deviations, sizes;
  for (std::size_t i = 0; i < by_work.size(); ++i) {
    deviations.push_back(deviation(by_work, i));
    sizes.push_back(std::abs(deviations.back()));
  }
  const double far = std::max(std::log(kFar), kFarScatter * quantile(std::move(sizes), 0.9));
  std::unordered_set<Operator> sound;
  for (std::size_t i = 0; i < by_work.size(); ++i)
    if (std::abs(deviations[i]) <= far) sound.insert(by_work[i]->sample->op);
  for (std::size_t i = 0; i < by_work.size(); ++i)
    if (std::abs(deviations[i]) > far)
      by_work[i]->reason = sound.contains(by_work[i]->sample->op) ? Reason::kBimodal : Reason::kOutlier;
}

Rows sorted_by_work(std::span<Row> rows) {
  Rows left = remaining(rows);
  std::stable_sort(left.begin(), left.end(), [](const Row* a, const Row* b) { return a->work < b->work; });
  return left;
}

void mark_group(std::span<Row> rows, const Times& forward, const Gpu& gpu) {
  mark_duplicates(rows);
  mark_copies(rows, forward);
  mark_outliers(sorted_by_work(rows));
  if (const Rows left = sorted_by_work(rows); left.size() > kWindow)
    mark_stalled(left, quantile_of(left, 0.01, [](const Row& r) { return r.seconds; }));
  mark_floor(sorted_by_work(rows));
  if (const Rows left = sorted_by_work(rows); left.size() >= kWindow && !grows(left))
    for (Row* row : left) row->reason = Reason::kFlat;
  std::size_t untrue = 0;
  for (const Row& row : rows) untrue += row.reason == Reason::kImpossible || row.reason == Reason::kFlat;
  if (static_cast<double>(untrue) > kDistrust * static_cast<double>(rows.size()))
    for (Row* row : remaining(rows)) row->reason = Reason::kDistrusted;
  mark_partial(rows, forward, gpu);
}

std::vector<Rejection> summarise(const std::string& label, std::span<const Row> rows) {
  std::array<Rejection, kReasonNames.size()> by_reason;
  for (const Row& row : rows) {
    Rejection& rejection = by_reason[static_cast<std::size_t>(row.reason)];
    if (rejection.count++ > 0) continue;
    const auto& [op, us] = std::pair(row.sample->op, row.sample->us);
    rejection.operator_name = label;
    rejection.reason = kReasonNames[static_cast<std::size_t>(row.reason)];
    rejection.group = rows.size();
    rejection.example = fmt::format("{}: {}", sizes_text(op), human_seconds(microseconds(us)));
  }
  std::vector<Rejection> found;
  for (std::size_t i = 1; i < by_reason.size(); ++i)
    if (by_reason[i].count > 0) found.push_back(std::move(by_reason[i]));
  return found;
}

}  // namespace

CleanResult clean(std::vector<Sample> samples, const Gpu& gpu) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> groups;
  std::map<std::string, std::size_t> index;
  Times forward;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto [entry, added] = index.emplace(operator_label(samples[i].op), groups.size());
    if (added) groups.emplace_back(entry->first, std::vector<std::size_t>{});
    groups[entry->second].second.push_back(i);
    if (samples[i].op.pass == PassKind::kForward) forward[forward_of(samples[i].op)].push_back(samples[i].us);
  }

  CleanResult result;
  std::vector<bool> rejected(samples.size());
  for (const auto& [label, members] : groups) {
    std::vector<Sample*> group;
    group.reserve(members.size());
    for (const std::size_t i : members) group.push_back(&samples[i]);
    if (const double us = take_off_host_share(group, gpu); us > 0)
      result.host_shares.push_back({label, us, group.size()});
    std::vector<Row> rows;
    rows.reserve(members.size());
    for (const std::size_t i : members) rows.push_back(make_row(samples[i], gpu));
    mark_group(rows, forward, gpu);
    for (std::size_t j = 0; j < rows.size(); ++j) rejected[members[j]] = rows[j].reason != Reason::kNone;
    for (Rejection& rejection : summarise(label, rows)) result.rejections.push_back(std::move(rejection));
  }
  for (std::size_t i = 0; i < samples.size(); ++i)
    (rejected[i] ? result.rejected : result.kept).push_back(std::move(samples[i]));
  return result;
}

std::string rejections_text(const std::vector<Rejection>& rejections) {
  std::size_t width = 0;
  for (const Rejection& r : rejections) width = std::max(width, r.operator_name.size());
  std::string text;
  for (const Rejection& r : rejections)
    text += fmt::format("{:<{}}  {:>6} of {:>6}  {:<10}  {}\n", r.operator_name, width,
                        with_commas(static_cast<std::int64_t>(r.count)),
                        with_commas(static_cast<std::int64_t>(r.group)), r.reason, r.example);
  return text;
}

std::string host_shares_text(const std::vector<HostShare>& shares) {
  std::string text;
  for (const HostShare& share : shares)
    text += fmt::format("{}  {:.1f} us a tensor, {} samples\n", share.operator_name, share.us_per_tensor,
                        with_commas(static_cast<std::int64_t>(share.count)));
  return text;
}

}  // namespace foretrain
