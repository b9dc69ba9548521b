// Every legal plan of a problem under its constraints, numbered: regions (region.h) of families (family.h) of plans, so
// that any part of the space can be dealt to any thread or machine. Of a small space the families are held; of a large
// one the regions alone, and families are made again by whoever looks into a region.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "search/region.h"

namespace foretrain {

class Space {
 public:
  // Counts every plan, on so many threads (0: as many as the machine has), but for what is left when `stop` says to: then the
  // space is of plans from all over that were counted until then, some at least where there are any. Refused where a GPU
  // count or the cluster cannot be used at all.
  static Result<Space> make(Problem problem, Constraints constraints, int threads = 0,
                            const std::function<bool()>& stop = nullptr);

  Space();
  Space(Space&&) noexcept;
  Space& operator=(Space&&) noexcept;
  ~Space();

  const Problem& problem() const { return legal_->problem(); }
  const Constraints& constraints() const { return legal_->constraints(); }
  const LegalValues& legal() const { return *legal_; }
  std::vector<LeftOut> left_out() const;
  std::uint64_t size() const { return size_; }
  std::uint64_t not_launched() const { return not_launched_; }  // plans that the stack's rules leave out
  std::uint64_t families() const { return families_; }
  bool is_whole() const { return whole_; }  // every plan was counted

  // None is without plans.
  std::span<const Region> regions() const { return regions_; }
  // One's families: those that are held, or `room` with them.
  std::span<const Family> families_of(std::size_t region, FamilyMaker& maker,
                                      std::vector<Family>& room) const;
  std::size_t region_of(std::uint64_t index) const;
  // Some families from all over the space, in its order.
  std::span<const Family> samples() const { return samples_; }

  Candidate candidate(std::uint64_t index) const;
  // Of the plan with this number. What was made for one serves the next.
  Family family_of(std::uint64_t index) const;

 private:
  class Recent;  // regions that somebody asked for plans of
  void count(int threads, const std::function<bool()>& stop);

  std::unique_ptr<const LegalValues> legal_;
  std::vector<Region> regions_;
  std::vector<std::vector<Family>> held_;  // of regions; none where they are made again
  std::vector<Family> samples_;
  std::uint64_t size_ = 0, not_launched_ = 0, families_ = 0;
  bool whole_ = true;
  std::unique_ptr<Recent> recent_;
};

}  // namespace foretrain
