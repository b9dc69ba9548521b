// What a framework refuses to launch, as data of its stack: a plan that has these keys needs those, and the
// framework's own words for it.
//
//   rules:
//     schedules: {needs: {schedule: [1f1b, interleaved]}, says: "core/pipeline_parallel/schedules.py has no other"}
//     param_gather: {plan: {overlap_param_gather: 1}, needs: {zero: 1.., overlap_grad_reduce: 1}, says: "..."}
//
// A rule without `plan` binds every plan. Values are words of the plan, numbers, or ranges of numbers (`2..`, `1..3`); of
// a list, any one. Keys are those of a plan, read as the run means them (what it leaves open is the stack's), and a few
// of what follows from it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"

namespace foretrain {

enum class Trait : unsigned char {
  kTp,
  kSp,
  kPp,
  kVpp,
  kCp,
  kCpType,
  kEp,
  kEtp,
  kDp,
  kZero,
  kShard,
  kRecompute,
  kRecomputeLayers,
  kSchedule,
  kAttention,
  kOptimizer,
  kMasterWeights,
  kFp8Params,
  kSpGatherAgain,
  kTpOverlap,
  kOverlapGradReduce,
  kOverlapParamGather,
  kPartitionActivations,
  kDispatcher,
  kCapacityPad,
  kOverlapDispatch,
  kOverlapShared,
  kMlpChunks,
  kOffload,
  kOffloadOptimizer,
  kPaged,
  kLora,
  kBase,
  kLayersPerStage,  // 1: stated, and not as the stack would split
  kEven,            // 1: every chunk has as many layers
  kExperts,         // 1: the model has them
  kNarrow,          // 1: products run in fewer bits than the passes
};
inline constexpr int kTraitCount = 37;

std::string_view key_of(Trait trait);

struct TraitValues {
  struct Range {
    std::int64_t low = 0, high = 0;
    bool operator==(const Range&) const = default;
  };
  Trait trait = Trait::kTp;
  std::vector<Range> any_of;

  bool holds(std::int64_t value) const {
    for (const Range& range : any_of)
      if (value >= range.low && value <= range.high) return true;
    return false;
  }
  bool operator==(const TraitValues&) const = default;
};

struct LaunchRule {
  std::string name;
  std::vector<TraitValues> plan;   // all of them: the rule binds
  std::vector<TraitValues> needs;  // then all of these
  std::string says;

  bool speaks_of(Trait trait) const;
  bool operator==(const LaunchRule&) const = default;
};

// "overlap_param_gather=1", "zero=1..3", "schedule=1f1b|interleaved"; a trait's value alone.
std::string to_text(const TraitValues& values);
std::string word_of(Trait trait, std::int64_t value);

// The map of rules by name.
Result<std::vector<LaunchRule>> parse_launch_rules(const Node& node);

}  // namespace foretrain
