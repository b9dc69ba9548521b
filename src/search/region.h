// A region of a space: plans that agree in GPUs, tp, pp, cp, ep and etp, the dimensions before micro_batch. A space
// holds its regions; the families of one are made when somebody looks into it, always the same in the same order.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "job/pipeline.h"
#include "search/family.h"
#include "search/legal_values.h"

namespace foretrain {

struct Region {
  Family values;                   // of its own dimensions; `first` and `plans` are the region's
  std::uint64_t not_launched = 0;  // plans that the stack's rules leave out
  std::uint32_t families = 0;

  std::uint64_t first() const { return values.first; }
  std::uint64_t plans() const { return values.plans; }
  std::int64_t gpus() const { return values.gpus(); }
};

// In the order of the space, nothing counted yet: some may turn out to be without plans.
std::vector<Region> regions_of(const LegalValues& legal);

// Makes families, one a thread: it remembers what families that follow one another share.
class FamilyMaker {
 public:
  explicit FamilyMaker(const LegalValues& legal);  // which must outlive it

  // The families of a region with their numbers, added to `out`. Tells how many plans the stack does not launch.
  std::uint64_t make(const Region& region, std::vector<Family>& out);

 private:
  void add_family(Family& family, std::vector<Family>& out);
  void look_at_splits(const Pipeline& pipeline);
  // How many plans a family has, and how many it would have if the stack launched all.
  std::pair<std::uint64_t, std::uint64_t> count_plans();

  const LegalValues& legal_;
  Run run_;
  Candidate candidate_;
  std::optional<Pipeline> split_of_;  // how stages are split depends on few of the dimensions
  std::vector<Value> split_values_;
  std::int64_t most_layers_ = 0, fewest_layers_ = 0;  // in any of these splits, as a family has them
  std::vector<Value> values_;
  std::uint64_t next_ = 0, not_launched_ = 0;
};

}  // namespace foretrain
