#include "spec/unsteady.h"

#include "spec/read_fields.h"

namespace foretrain {

Result<std::optional<Unsteady>> unsteady_of(const Node& file) {
  if (!file.is_map() || file.find(kUnsteadyKey) == nullptr) return std::nullopt;
  TRY_ASSIGN(const Node* map, required_section(file, kUnsteadyKey, {"gpus", "slot_s", "times", "of_peak"}));
  Unsteady state;
  if (const Node* gpus = map->find("gpus")) {
    if (!gpus->is_list()) return named(kUnsteadyKey, Error{"gpus: expected a list of counts", gpus->at});
    for (const Node& item : gpus->items) {
      auto count = item.integer(1, 10'000'000);
      if (!count) return named(kUnsteadyKey, std::move(count).error());
      state.gpus.push_back(*count);
    }
  }
  double slot = 0;
  TRY(read_required(*map, "slot_s", slot, RealNumber{1e-6, 1e6}));
  TRY(read_required(*map, "times", state.times, RealNumber{1.0, 1e6}));
  TRY(read_required(*map, "of_peak", state.of_peak, RealNumber{1e-3, 1.0}));
  state.slot = Seconds(slot);
  return state;
}

}  // namespace foretrain
