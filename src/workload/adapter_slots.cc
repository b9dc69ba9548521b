#include "workload/adapter_slots.h"

namespace foretrain {

void AdapterSlots::add(LoraTarget target, std::int64_t in, std::int64_t out) {
  if (adapters_.targets.has(target)) slots_[count_++] = {in, out};
}

std::span<const AdapterSlot> AdapterSlots::beside(const PartOperator& product, const Widths& widths) {
  using enum LoraTarget;
  count_ = 0;
  const std::int64_t in = widths[product.in], out = widths[product.out];
  if (!adapters_.frozen() || product.kind != OperatorKind::kLinear) return {};
  if (product.in == Width::kAttended) {
    add(kO, in, out);
  } else if (product.in == Width::kFfn) {
    add(kDown, in, out);
  } else if (product.out == Width::kQ || product.out == Width::kQRank) {
    add(kQ, in, out);
  } else if (product.out == Width::kKvDown) {
    add(kK, in, out);
  } else if (product.out == Width::kKvUp) {
    add(kV, in, out);
  } else if (product.out == Width::kKv) {
    for (std::int64_t i = 0; i < product.times; ++i) add(keys_++ % 2 == 0 ? kK : kV, in, out);
  } else if (product.out == Width::kQkv) {
    if (fuses_qkv_) {
      add(adapters_.targets.has(kQ) ? kQ : adapters_.targets.has(kK) ? kK : kV, in, out);
    } else {
      add(kQ, in, widths[Width::kQ]);
      add(kK, in, widths[Width::kKv]);
      add(kV, in, widths[Width::kKv]);
    }
  } else if (product.out == Width::kFfn) {
    // Of two such products the first is the gate.
    const bool gated = widths[Width::kGateUp] > widths[Width::kFfn];
    add(gated && ups_++ % 2 == 0 ? kGate : kUp, in, out);
  } else if (product.out == Width::kGateUp) {
    if (fuses_mlp_) {
      add(adapters_.targets.has(kGate) ? kGate : kUp, in, out);
    } else {
      add(kGate, in, widths[Width::kFfn]);
      add(kUp, in, widths[Width::kFfn]);
    }
  }
  return {slots_.data(), count_};
}

bool can_be_quantised(const PartOperator& product) {
  return product.kind == OperatorKind::kLinear && product.out != Width::kExperts &&
         product.out != Width::kOne && product.out != Width::kVocab && product.in != Width::kJoined;
}

bool divides_input(const PartOperator& product) {
  return product.in == Width::kAttended || product.in == Width::kFfn;
}

}  // namespace foretrain
