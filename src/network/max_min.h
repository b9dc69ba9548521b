// Max-min fair sharing (Bertsekas and Gallager, Data Networks, section 6.5.2): every flow gets as much as it
// can without taking from one that has less. Rates rise together; a link that fills, or a flow that reaches
// its own limit, stops the flows concerned, and the others rise on.
//
//   Two flows on a link of 10, the second also on a link of 3: 7 and 3.
//
// Flows that are alike (the groups of one kind on a node) are one class: `uses` says how many of them are on
// each link.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace foretrain {

inline constexpr std::size_t kMaxSharedLinks = 4;

struct FlowClass {
  double limit = 0.0;                          // what one flow can carry by itself
  std::array<double, kMaxSharedLinks> uses{};  // how many of these flows are on each link
};

// `rates` gets what one flow of each class carries. No allocation; at most as many rounds as classes.
void max_min(std::span<const double> capacities, std::span<const FlowClass> classes, std::span<double> rates);

}  // namespace foretrain
