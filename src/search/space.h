// Every legal plan of a problem under its constraints, numbered. The outer dimensions are written out as
// families; each family has the product of its inner dimensions' values, so a number leads to its plan by a
// search among families and a few divisions, and any part of the space can be dealt to any thread or machine.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "job/pipeline.h"
#include "search/constraint.h"
#include "search/launch_filter.h"

namespace foretrain {

inline constexpr std::size_t kMostDimensions = 32;  // that make families

class Space {
 public:
  // Refused where a GPU count or the cluster cannot be used at all, or where there are too many families.
  static Result<Space> make(Problem problem, Constraints constraints);

  const Problem& problem() const { return problem_; }
  const Constraints& constraints() const { return constraints_; }
  std::vector<LeftOut> left_out() const;
  std::uint64_t size() const { return size_; }
  std::uint64_t not_launched() const { return not_launched_; }  // plans that the stack's rules leave out
  std::size_t families() const { return families_.size(); }

  // Of a family: the number of its first plan, and how many it has.
  std::uint64_t first(std::size_t family) const { return families_[family].first; }
  std::uint64_t count(std::size_t family) const;
  std::size_t family_of(std::uint64_t index) const;
  std::int64_t most_layers(std::size_t family) const { return families_[family].most_layers; }  // of a chunk

  // What its parts differ in: values of the inner dimensions before the split, by dimension.
  std::vector<std::vector<Value>> parts(const Candidate& shared) const;
  std::int64_t gpus(std::size_t family) const { return families_[family].value(0); }

  Candidate candidate(std::uint64_t index) const;
  Candidate shared(std::size_t family) const;  // of its plans, inner dimensions left at the default
  // The same in the family's own steps: what its plans share, then each in the order of its numbers.
  class Members {
   public:
    Members(const Space& space, std::size_t family);
    const Candidate& shared() const { return candidate_; }  // at first, the plain inner values
    const Candidate& member(std::uint64_t n);
    // A part's plans follow one another.
    std::uint64_t part_size() const { return part_size_; }
    // How many plans from the n-th on differ from it in nothing but what overlaps.
    std::uint64_t same_split(std::uint64_t n) const { return flags_ - n % flags_; }
    std::uint64_t flags() const { return flags_; }

   private:
    const Space& space_;
    std::size_t family_;
    Candidate candidate_;
    std::vector<std::vector<Value>> inner_;  // as far as the split
    std::vector<std::vector<Value>> flags_of_plans_;
    std::vector<Value> now_;
    std::uint64_t part_size_ = 1;  // combinations of the split and the dimensions after it
    std::uint64_t flags_ = 1;      // of those after it alone
  };

 private:
  // Values of the outer dimensions: the first of them may be large, the others are words, flags and layers.
  struct Family {
    std::array<std::int32_t, kMostDimensions / 2> large{};
    std::array<std::int16_t, kMostDimensions / 2> small{};
    std::uint64_t first = 0;
    std::int32_t most_layers = 0;  // that a chunk of any of its plans has

    void set(std::size_t dimension, Value value) {
      if (dimension < large.size())
        large[dimension] = static_cast<std::int32_t>(value);
      else
        small[dimension - large.size()] = static_cast<std::int16_t>(value);
    }
    Value value(std::size_t dimension) const {
      return dimension < large.size() ? large[dimension] : small[dimension - large.size()];
    }
  };
  bool is_bounded(const Dimension& dimension) const;
  void fill(const Dimension& dimension, const Candidate& so_far, std::vector<Value>& out) const;
  // Of the inner dimensions as far as the split: what each may be, whatever the others are.
  std::vector<std::vector<Value>> inner_values(const Candidate& shared, const Traits& traits) const;
  // Of those after it, which may need one another: what they may be together.
  std::vector<std::vector<Value>> flag_values(const Candidate& shared, const Traits& traits) const;

  std::int64_t largest_chunk(const Candidate& candidate, const Pipeline& pipeline,
                             const std::vector<Value>& splits) const;
  std::pair<std::uint64_t, std::uint64_t> count_plans(const Candidate& candidate) const;
  Result<void> grow(Run& run, Candidate& candidate, Family& family, std::size_t depth);

  Problem problem_;
  Constraints constraints_;
  std::optional<Pipeline> split_of_;  // while families are made
  std::vector<Value> split_values_;
  std::int64_t most_layers_ = 0;  // of a chunk in any of these splits
  std::deque<Family> families_;   // grows without a second copy
  LaunchFilter launches_;
  std::uint64_t size_ = 0;
  std::uint64_t not_launched_ = 0;
};

}  // namespace foretrain
