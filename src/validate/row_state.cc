#include "validate/row_state.h"

#include <fmt/format.h>

#include <algorithm>

namespace foretrain {

bool is_broken(const MeasuredRow& row, const Unsteady& state, const Model& model, const Gpu& gpu) {
  if (!row.step || !row.gpus || !row.micro_batch || !row.global_batch || !row.seq) return false;
  if (std::find(state.gpus.begin(), state.gpus.end(), *row.gpus) != state.gpus.end()) return true;
  const std::int64_t tp = row.tp.value_or(1), pp = row.pp.value_or(1), cp = row.cp.value_or(1);
  const std::int64_t dp = std::max<std::int64_t>(1, row.dp.value_or(*row.gpus / (tp * pp * cp)));
  if (pp == 1 || *row.gpus <= row.gpus_per_node.value_or(*row.gpus)) return false;
  const auto micro_batches = static_cast<double>(*row.global_batch / (dp * *row.micro_batch));
  const Seconds slot = *row.step / (micro_batches + static_cast<double>(pp - 1));
  const double flops = 6.0 * static_cast<double>(active_parameters(model)) *
                       static_cast<double>(*row.micro_batch * *row.seq) / static_cast<double>(tp * pp * cp);
  const Seconds usual(flops / (state.of_peak * gpu.rate(Dtype::kBf16).value));
  return slot >= state.slot && slot >= usual * state.times;
}

std::string group_of(const MeasuredRow& row) {
  if (!row.group.empty()) return row.group;
  if (row.notes.says("nodes", "single") && row.hidden && row.tp && row.micro_batch)
    return fmt::format("{} h{} tp{} mb{}", row.source, *row.hidden, *row.tp, *row.micro_batch);
  return row.id;
}

}  // namespace foretrain
