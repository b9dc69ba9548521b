#include "samples/kineto_owners.h"

#include <algorithm>

namespace foretrain {
namespace {

constexpr int kDeepest = 1000;  // operators inside each other that are looked at

bool holds(const CpuOperator& op, double us) { return op.start_us <= us && us <= op.start_us + op.us; }

}  // namespace

KinetoOwners::KinetoOwners(const KinetoEvents& events)
    : events_(events), parents_(events.operators.size(), -1) {
  for (std::size_t i = 0; i < events.launches.size(); ++i)
    launches_.emplace(events.launches[i].correlation, i);
  const std::vector<CpuOperator>& operators = events.operators;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const auto number = static_cast<std::int32_t>(i);
    if (operators[i].external >= 0) external_.emplace(operators[i].external, number);
    threads_[operators[i].thread].push_back(number);
  }
  for (auto& [thread, numbers] : threads_) {
    const auto at = [&](std::int32_t i) -> const CpuOperator& {
      return operators[static_cast<std::size_t>(i)];
    };
    // Of two that start together the longer one is outside.
    std::sort(numbers.begin(), numbers.end(), [&](std::int32_t a, std::int32_t b) {
      if (at(a).start_us != at(b).start_us) return at(a).start_us < at(b).start_us;
      return at(a).us != at(b).us ? at(a).us > at(b).us : a < b;
    });
    std::vector<std::int32_t> open;
    for (const std::int32_t number : numbers) {
      while (!open.empty() && !holds(at(open.back()), at(number).start_us)) open.pop_back();
      if (!open.empty()) parents_[static_cast<std::size_t>(number)] = open.back();
      open.push_back(number);
    }
  }
}

std::int32_t KinetoOwners::open_at(std::int64_t thread, double us) const {
  const auto found = threads_.find(thread);
  if (found == threads_.end()) return -1;
  const std::vector<std::int32_t>& numbers = found->second;
  const auto next = std::upper_bound(numbers.begin(), numbers.end(), us, [&](double time, std::int32_t i) {
    return time < events_.operators[static_cast<std::size_t>(i)].start_us;
  });
  if (next == numbers.begin()) return -1;
  std::int32_t op = *(next - 1);
  for (int level = 0; op >= 0 && level < kDeepest; ++level, op = parent(op))
    if (holds(events_.operators[static_cast<std::size_t>(op)], us)) return op;
  return -1;
}

std::int32_t KinetoOwners::owner(const GpuEvent& event) const {
  if (const auto launch = launches_.find(event.correlation); launch != launches_.end()) {
    const LaunchEvent& call = events_.launches[launch->second];
    if (const std::int32_t op = open_at(call.thread, call.start_us); op >= 0) return op;
  }
  const auto found = external_.find(event.external);
  return found == external_.end() ? -1 : found->second;
}

std::optional<double> KinetoOwners::launched_us(const GpuEvent& event) const {
  const auto launch = launches_.find(event.correlation);
  if (launch == launches_.end()) return std::nullopt;
  return events_.launches[launch->second].start_us;
}

}  // namespace foretrain
