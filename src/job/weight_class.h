// Weights come in classes by which ranks hold the same: those of experts lie on ranks of their own (Mesh), all
// others on the ranks of tensor and pipeline parallelism. What sums, divides or updates weights does it class
// by class.
#pragma once

#include <array>

#include "job/group.h"

namespace foretrain {

enum class WeightClass : unsigned char { kCommon, kExperts };
inline constexpr int kWeightClassCount = 2;
inline constexpr std::array kWeightClasses = {WeightClass::kCommon, WeightClass::kExperts};

// The ranks that hold the same weights and sum their gradients; of these, those that share one copy of what
// ZeRO divides; and those that hold the same share.
struct WeightGroups {
  GroupKind data;
  GroupKind shard;
  GroupKind replica;
};
constexpr WeightGroups groups_of(WeightClass weights) {
  using enum GroupKind;
  return weights == WeightClass::kCommon ? WeightGroups{kData, kShard, kReplica}
                                         : WeightGroups{kExpertData, kExpertShard, kExpertReplica};
}

// Something for each class.
template <class T>
struct ByClass {
  std::array<T, kWeightClassCount> values{};

  constexpr T& operator[](WeightClass weights) { return values[static_cast<std::size_t>(weights)]; }
  constexpr const T& operator[](WeightClass weights) const {
    return values[static_cast<std::size_t>(weights)];
  }
  bool operator==(const ByClass&) const = default;
};

}  // namespace foretrain
