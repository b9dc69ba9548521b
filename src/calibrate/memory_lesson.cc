#include "calibrate/memory_lesson.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace foretrain {
namespace {

constexpr double kCommon = 0.5;  // of the variance: the cluster's
constexpr double kFreedom = 4;   // of the t distribution
constexpr int kReweighings = 20;

struct OfRun {
  double sum = 0, spread = 0;
  std::size_t count = 0;
  double gap() const { return sum / static_cast<double>(count); }
};

}  // namespace

std::optional<MemoryLesson> memory_lesson(const std::vector<HeldMemory>& all) {
  if (all.empty()) return std::nullopt;
  std::map<std::string, OfRun> runs;
  for (const HeldMemory& one : all) {
    OfRun& run = runs[one.run];
    run.sum += std::log(one.measured / one.predicted);
    run.spread = std::max(run.spread, one.spread);
    ++run.count;
  }
  MemoryLesson out;
  out.runs = runs.size();
  double common = 0;
  for (const auto& [name, run] : runs)
    common += kCommon * run.spread * run.spread / static_cast<double>(runs.size());
  for (int i = 0; i < kReweighings; ++i) {
    double weights = 1 / common, sum = 0;
    for (const auto& [name, run] : runs) {
      const double own = (1 - kCommon) * run.spread * run.spread, off = run.gap() - out.held;
      const double weight = (kFreedom + 1) / (kFreedom + off * off / own) / own;
      weights += weight, sum += weight * run.gap();
    }
    out.held = sum / weights;
    out.deviation = std::sqrt(1 / weights);
  }
  return out;
}

double memory_spread_after(const std::optional<MemoryLesson>& lesson, double spread) {
  if (!lesson) return spread;
  return std::min(spread, std::hypot(std::sqrt(1 - kCommon) * spread, lesson->deviation));
}

}  // namespace foretrain
