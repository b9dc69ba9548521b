// The plans of a family in its own steps: what they share, then each in the order of its numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/family.h"
#include "search/legal_values.h"

namespace foretrain {

// What a family's plans share, inner dimensions left at the default.
Candidate shared_by(const Family& family, const Problem& problem);

class Members {
 public:
  Members(const LegalValues& legal, const Family& family);  // `legal` must outlive it
  const Family& family() const { return family_; }
  const Candidate& member(std::uint64_t n);
  // layers_per_stage of the n-th, until the next call.
  std::span<const std::int64_t> split(std::uint64_t n);
  // A part's plans follow one another.
  std::uint64_t part_size() const { return part_size_; }
  // How many plans from the n-th on differ from it in nothing but what overlaps.
  std::uint64_t same_split(std::uint64_t n) const { return flags_ - n % flags_; }
  std::uint64_t flags() const { return flags_; }

 private:
  const Problem& problem_;
  Family family_;
  Candidate candidate_;
  std::vector<std::vector<Value>> inner_;  // as far as the split
  std::vector<std::vector<Value>> flags_of_plans_;
  std::vector<Value> now_;
  std::vector<std::int64_t> layers_;
  std::uint64_t part_size_ = 1;  // combinations of the split and the dimensions after it
  std::uint64_t flags_ = 1;      // of those after it alone
};

}  // namespace foretrain
