#include "search/backlog.h"

#include <algorithm>
#include <numeric>

#include "search/exchange.h"

namespace foretrain {
namespace {

constexpr std::size_t kFamiliesAtOnce = 65'536;  // whose floors are found before ranks tell one another

bool later(const Item& a, const Item& b) { return a.after(b); }

std::uint64_t decided_by(const SearchCounts& counts) {
  return counts.evaluated + counts.pruned_memory + counts.pruned_bound;
}

}  // namespace

void add(SearchCounts& sum, const SearchCounts& counts) {
  sum.evaluated += counts.evaluated;
  sum.pruned_memory += counts.pruned_memory;
  sum.pruned_bound += counts.pruned_bound;
  sum.simulated += counts.simulated;
}

Backlog::Backlog(const Space& space, const SearchOptions& options, Workers& workers, Watch& watch,
                 const Kept& kept, const Kept& probed)
    : space_(space),
      options_(options),
      workers_(workers),
      watch_(watch),
      kept_(kept),
      probed_(probed),
      floors_(space, options),
      makers_(static_cast<std::size_t>(workers.wanted())) {}

std::optional<PlanFloor> Backlog::floor_of(const Family& family, const Closed& closed, std::size_t& next,
                                           std::size_t thread) {
  if (!options_.bounds) return PlanFloor{};
  if (closed.noted.empty()) return floors_.of(family, workers_.evaluator(thread));
  if (next == closed.noted.size() || closed.noted[next].family != family.first) return std::nullopt;
  return closed.noted[next++].floor;
}

void Backlog::open(std::size_t region, std::size_t thread, Found& found) {
  if (makers_[thread] == nullptr) makers_[thread] = std::make_unique<FamilyMaker>(space_.legal());
  const Sieve sieve(options_, kept_, probed_);
  const Closed& closed = closed_[region];
  if (!closed.noted.empty()) found.counts = closed.dropped;
  std::size_t next = 0;
  std::vector<Family> room;
  for (const Family& family : space_.families_of(region, *makers_[thread], room)) {
    if (watch_.asked_to_stop()) {
      found.stopped = true;
      return;
    }
    const std::optional<PlanFloor> floor = floor_of(family, closed, next, thread);
    if (floor && !sieve.drops(*floor, family.gpus(), family.plans, found.counts))
      found.items.push_back({floors_.order_key(*floor), family, 0, family.plans, !options_.bounds, *floor});
  }
}

// The work is dealt to ranks and threads by region.
bool Backlog::look_into(std::span<const std::size_t> regions, const Use& use) {
  const Share share(options_.team);
  for (std::size_t begin = 0; begin < regions.size();) {
    std::size_t end = begin, families = 0;
    while (end < regions.size() && families < kFamiliesAtOnce)
      families += space_.regions()[regions[end++]].families;
    std::vector<Found> found(end - begin);
    workers_.each(share.count(found.size()), 1, [&](std::size_t i, std::size_t thread) {
      open(regions[begin + share.at(i)], thread, found[share.at(i)]);
      watch_.decided(0);
    });
    exchange(options_.team, found);
    for (const Found& one : found)
      if (one.stopped) return false;
    for (std::size_t i = 0; i < found.size(); ++i) use(regions[begin + i], found[i]);
    begin = end;
  }
  return true;
}

void Backlog::close(std::size_t region, const Found& found) {
  Closed& closed = closed_[region];
  closed.items = found.items.size();
  for (const Item& item : found.items) {
    const bool first = &item == found.items.data();
    closed.floor.step = first ? item.floor.step : std::min(closed.floor.step, item.floor.step);
    closed.floor.peak = first ? item.floor.peak : std::min(closed.floor.peak, item.floor.peak);
    closed.key = std::min(closed.key, item.key);
  }
  if (noted_ + found.items.size() > options_.most_noted) return;
  noted_ += found.items.size();
  closed.dropped = found.counts;
  closed.noted.reserve(found.items.size());
  for (const Item& item : found.items) closed.noted.push_back({item.family.first, item.floor});
}

bool Backlog::survey(SearchCounts& counts) {
  std::vector<std::size_t> regions(space_.regions().size());
  std::iota(regions.begin(), regions.end(), std::size_t{0});
  closed_.assign(regions.size(), {});
  bool holds = true;
  SearchCounts of_items, of_empty;  // what regions with items drop is counted again when these are made again
  surveyed_ = look_into(regions, [&](std::size_t region, Found& found) {
    close(region, found);
    add(found.items.empty() ? of_empty : of_items, found.counts);
    if (holds) items_.insert(items_.end(), found.items.begin(), found.items.end());
    if (items_.size() <= options_.most_held) return;
    holds = false;
    std::vector<Item>().swap(items_);
  });
  add(counts, of_empty);
  if (holds) add(counts, of_items);
  watch_.decided(decided_by(counts));
  if (holds) {
    for (Closed& closed : closed_) std::vector<Noted>().swap(closed.noted);
    put_in_order();
    return surveyed_;
  }
  for (const std::size_t region : regions)
    if (closed_[region].items > 0) order_.push_back(region);
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::size_t a, std::size_t b) { return closed_[a].key < closed_[b].key; });
  return surveyed_ && open_window(counts);
}

bool Backlog::open_window(SearchCounts& counts) {
  const Sieve sieve(options_, kept_, probed_);
  std::vector<std::size_t> window;
  SearchCounts dropped;
  for (std::size_t items = 0; next_ < order_.size(); ++next_) {
    const std::size_t region = order_[next_];
    const Region& of = space_.regions()[region];
    if (sieve.drops(closed_[region].floor, of.gpus(), of.plans(), dropped)) continue;
    items += closed_[region].items;
    if (!window.empty() && items > options_.most_held) break;
    window.push_back(region);
  }
  const bool whole = look_into(window, [&](std::size_t, Found& found) {
    add(dropped, found.counts);
    items_.insert(items_.end(), found.items.begin(), found.items.end());
  });
  for (const std::size_t region : window) std::vector<Noted>().swap(closed_[region].noted);
  surveyed_ = surveyed_ && whole;
  add(counts, dropped);
  watch_.decided(decided_by(dropped));
  put_in_order();
  return whole;
}

// Sorted, so a heap too.
void Backlog::put_in_order() {
  std::sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) { return b.after(a); });
}

void Backlog::push(const Item& item) {
  items_.push_back(item);
  std::push_heap(items_.begin(), items_.end(), later);
}

Item Backlog::pop() {
  std::pop_heap(items_.begin(), items_.end(), later);
  const Item item = items_.back();
  items_.pop_back();
  return item;
}

double Backlog::least_open() const {
  if (!surveyed_) return 0;
  double least = std::numeric_limits<double>::infinity();
  for (const Item& item : items_)
    least = std::min(least, least_key(item.floor, item.family.gpus(), options_.objective));
  for (std::size_t i = next_; i < order_.size(); ++i)
    least = std::min(
        least, least_key(closed_[order_[i]].floor, space_.regions()[order_[i]].gpus(), options_.objective));
  return least;
}

}  // namespace foretrain
