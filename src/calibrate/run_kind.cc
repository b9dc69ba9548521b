#include "calibrate/run_kind.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "spec/model.h"

namespace foretrain {
namespace {

constexpr double kOtherModel = 1.5, kOtherFormat = 1.5, kOtherStack = 2, kOtherLength = 0.35;

}  // namespace

RunKind kind_of(const Model& model, const Stack& stack, const Plan& plan, std::int64_t seq) {
  return {fmt::format("{} x {}, {}", model.layers(), model.hidden,
                      human_count(static_cast<double>(parameters(model)))),
          stack.name, plan.precision, seq};
}

double likeness(const RunKind& a, const RunKind& b) {
  double distance =
      kOtherLength * std::abs(std::log(static_cast<double>(a.seq) / static_cast<double>(b.seq)));
  if (a.model != b.model) distance += kOtherModel;
  if (a.precision != b.precision) distance += kOtherFormat;
  if (a.stack != b.stack) distance += kOtherStack;
  return std::exp(-distance);
}

std::vector<std::string> differences(const RunKind& a, const RunKind& from) {
  std::vector<std::string> out;
  if (a.model != from.model) out.emplace_back("another model");
  for (const auto& [what, here, there] :
       {std::tuple("stack", &a.stack, &from.stack), std::tuple("precision", &a.precision, &from.precision)})
    if (*here != *there) out.push_back(fmt::format("{} {} instead of {}", what, *here, *there));
  if (a.seq != from.seq) out.push_back(fmt::format("seq {} instead of {}", a.seq, from.seq));
  return out;
}

}  // namespace foretrain
