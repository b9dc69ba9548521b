// What a search has before it. Every region is looked into once, and of each of its families the floor found; those that
// may come in wait in a heap, the least first. Where these are more than may be held at once, only the least floor of
// each region is remembered: regions are then gone through in windows, those with the least floors first, and the
// families of a window are made again when its turn comes. Of the first of them, so many as options say, the floors are
// noted, which take longer to find than the families to make. So the memory that a search takes does not grow with its space, but for some
// hundred bytes a region.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "search/family_floor.h"
#include "search/item.h"
#include "search/sieve.h"
#include "search/watch.h"
#include "search/workers.h"

namespace foretrain {

class Backlog {
 public:
  // REQUIRES: all of them outlive it
  Backlog(const Space& space, const SearchOptions& options, Workers& workers, Watch& watch, const Kept& kept,
          const Kept& probed);

  // Looks into all regions. False: it was stopped, and nothing is known of the rest.
  bool survey(SearchCounts& counts);
  // Once no item waits any more: those of the next window, in order. False: it was stopped.
  bool open_window(SearchCounts& counts);
  bool has_window() const { return next_ < order_.size(); }

  bool empty() const { return items_.empty(); }
  std::span<const Item> items() const { return items_; }
  void push(const Item& item);
  Item pop();  // the least

  // The least that anything that waits can be in the objective's figure.
  double least_open() const;

 private:
  struct Noted {
    std::uint64_t family = 0;  // its first plan
    PlanFloor floor;
  };
  // What is known of a region while it is closed.
  struct Closed {
    PlanFloor floor;  // the least of its families that may come in
    double key = std::numeric_limits<double>::infinity();
    std::size_t items = 0;
    // Of these items, in their order, where there was room; then also how the other families were dropped.
    std::vector<Noted> noted;
    SearchCounts dropped;
  };
  using Use = std::function<void(std::size_t region, Found& found)>;
  bool look_into(std::span<const std::size_t> regions, const Use& use);
  void open(std::size_t region, std::size_t thread, Found& found);
  // Of a family of the region; none: it was dropped when the region was closed. `next` is the first noted that may be its.
  std::optional<PlanFloor> floor_of(const Family& family, const Closed& closed, std::size_t& next,
                                    std::size_t thread);
  void close(std::size_t region, const Found& found);
  void put_in_order();

  const Space& space_;
  const SearchOptions& options_;
  Workers& workers_;
  Watch& watch_;
  const Kept& kept_;
  const Kept& probed_;
  FamilyFloors floors_;
  std::vector<std::unique_ptr<FamilyMaker>> makers_;  // one a thread
  std::vector<Item> items_;                           // a heap, the least on top
  std::vector<Closed> closed_;
  std::size_t noted_ = 0;           // in all of them
  std::vector<std::size_t> order_;  // of closed regions: those that wait for a window
  std::size_t next_ = 0;
  bool surveyed_ = false;
};

void add(SearchCounts& sum, const SearchCounts& counts);

}  // namespace foretrain
