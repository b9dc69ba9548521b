// What a cluster's runs held of memory against what is predicted: libraries, the driver, buffers that nobody counts.
//
//   m_i = log(measured / predicted) = held + e_i,   held ~ N(0, s^2 / 2),   e_i ~ t_4(s_i^2 / 2)
//
// s is the deviation of predicted memory by how well the stack is known (predict/uncertainty.h): half of its variance is the
// cluster's, half each run's own. One that lies far off counts less.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace foretrain {

struct HeldMemory {
  std::string name;                    // of the row or the file
  std::string run;                     // run_identity()
  double measured = 0, predicted = 0;  // bytes, by the counter that was read
  double spread = 0;                   // s

  bool operator==(const HeldMemory&) const = default;
};

// Measured against predicted, as a logarithm, and of how many runs.
struct MemoryLesson {
  double held = 0;
  double deviation = 0;
  std::size_t runs = 0;

  bool operator==(const MemoryLesson&) const = default;
};

// Several measurements of one run count as one, of their geometric mean. None: nothing.
std::optional<MemoryLesson> memory_lesson(const std::vector<HeldMemory>& all);

// The deviation of another run's memory once that was learned: its own half, and what is left to know of the cluster's. No
// lesson, or one of nothing: s.
double memory_spread_after(const std::optional<MemoryLesson>& lesson, double spread);

}  // namespace foretrain
