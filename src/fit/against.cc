#include "fit/against.h"

#include <map>
#include <string>
#include <unordered_map>

namespace foretrain {

std::vector<Sample> carried_against(const std::vector<Sample>& here, const std::vector<Sample>& there,
                                    const Gpu& gpu, const CostSource& costs_there) {
  std::unordered_map<Operator, std::map<std::string, double>> times;
  for (const Sample& sample : there) times[sample.op].try_emplace(sample.group, sample.us);
  std::vector<Sample> carried;
  for (const Sample& sample : here) {
    const auto of_shape = times.find(sample.op);
    if (of_shape == times.end()) continue;
    const auto of_library = of_shape->second.find(sample.group);
    const OperatorCost cost = costs_there.cost(sample.op);
    if (of_library == of_shape->second.end() || cost.origin == Origin::kAnalytic) continue;
    Sample made = sample;
    made.us = cost.gpu.value * 1e6 * sample.us / of_library->second;
    made.host_us.reset();
    made.limit_w.reset();
    if (is_product(made.op.kind)) made.clock_mhz = gpu.clock_max_mhz;
    carried.push_back(std::move(made));
  }
  return carried;
}

}  // namespace foretrain
