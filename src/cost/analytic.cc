#include "cost/analytic.h"

#include <algorithm>

#include "operators/description.h"

namespace foretrain {
namespace {

// Between two dependent kernels of one stream: the drain of one and the ramp of the next (assumed).
constexpr Seconds kKernelGap = microseconds(1.5);

// Elements a clock and SM of kernels that load one at a time (a broadcast bias, x / rms, strided halves): 1.4
// to 1.6 over ten such kernels of PyTorch 2.11 on our H200 (132 SMs at 1980 MHz). An element is read and
// written.
constexpr double kScalarElements = 1.5;

// What its kernels reach of a long stream's bandwidth.
double stream_share(const Operator& op) {
  const Description& known = description(op.kind);
  if (op.impl == Impl::kEager) return known.eager_share;
  return op.impl != Impl::kFused && known.library_share > 0 ? known.library_share : known.stream_share;
}

// Share of the card's power while streaming from memory; products draw the cap.
constexpr double kStreamPowerShare = 0.75;

}  // namespace

Seconds AnalyticCost::compute_time(const Operator& op) const {
  const auto compute = description(op.kind).compute_time;
  return compute == nullptr ? Seconds(0) : compute(op, gpu_);
}

Seconds AnalyticCost::memory_time(const Operator& op) const {
  const BytesPerSecond stream = gpu_.hbm * gpu_.memory_efficiency * stream_share(op);
  const double elements = scalar_elements(op);
  const Bytes scalar(std::min(2 * bytes_of(op.dtype) * elements, bytes(op).value));
  const double issue = kScalarElements * static_cast<double>(gpu_.sms) * gpu_.clock_max_mhz * 1e6;
  const Seconds issued = issue > 0 ? Seconds(elements / issue) : Seconds(0);
  return (bytes(op) - scalar) / stream + std::max(scalar / stream, issued);
}

OperatorCost AnalyticCost::cost(const Operator& op) const {
  OperatorCost cost;
  const Seconds compute = compute_time(op);
  const Seconds memory = memory_time(op);
  const Seconds busy = std::max(compute, memory);
  cost.gpu = busy + kKernelGap * static_cast<double>(op.launches);
  cost.host = host_launch_ * static_cast<double>(op.launches);
  const bool clocked = compute >= memory && compute > Seconds(0);
  cost.clocked_share = clocked ? busy / cost.gpu : 0.0;
  cost.watts = gpu_.power_cap_w * (clocked ? 1.0 : kStreamPowerShare);
  cost.spread = description(op.kind).analytic_spread;
  return cost;
}

}  // namespace foretrain
