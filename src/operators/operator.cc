#include "operators/operator.h"

#include "operators/description.h"

namespace foretrain {

std::size_t hash_of(const Operator& op) {
  // Multiply-xorshift over the sizes: cheap, and sizes that differ in one place never collide by symmetry.
  std::uint64_t h = static_cast<std::uint64_t>(op.kind) | static_cast<std::uint64_t>(op.impl) << 8 |
                    static_cast<std::uint64_t>(op.pass) << 16 | static_cast<std::uint64_t>(op.dtype) << 24 |
                    static_cast<std::uint64_t>(static_cast<std::uint32_t>(op.launches)) << 32;
  for (const std::int64_t size : op.flat()) {
    h = (h ^ static_cast<std::uint64_t>(size)) * 0x9e3779b97f4a7c15ull;
    h ^= h >> 29;
  }
  return h;
}

std::int32_t usual_launches(const Operator& op) {
  const auto launches = description(op.kind).usual_launches;
  return launches == nullptr ? 1 : launches(op);
}

Flops flops(const Operator& op) {
  const auto flops = description(op.kind).flops;
  return flops == nullptr ? Flops(0) : flops(op);
}

double useful_share(const Operator& op) {
  const auto share = description(op.kind).useful_share;
  return share == nullptr ? 1.0 : share(op);
}

Bytes bytes(const Operator& op) { return description(op.kind).bytes(op); }

double least_bytes(const Operator& op) {
  const auto least = description(op.kind).least_bytes;
  if (least != nullptr) return least(op);
  Operator fused = op;
  fused.impl = Impl::kFused;
  return bytes(fused).value;
}

int row_loads(std::int64_t elements) { return elements % 2 != 0 ? 0 : elements % 8 != 0 ? 1 : 2; }

int row_loads(const Operator& op) {
  const auto loads = description(op.kind).row_loads;
  return loads == nullptr ? row_loads(op.flat()[1]) : loads(op);
}

Operator with_aligned_rows(const Operator& op) {
  Operator aligned = op;
  const auto align = description(op.kind).align_rows;
  if (align != nullptr && is_half(op.dtype)) align(aligned);
  return aligned;
}

double scalar_elements(const Operator& op) {
  const auto elements = description(op.kind).scalar_elements;
  return elements == nullptr ? 0 : elements(op);
}

Bytes made_bytes(const Operator& op) {
  if (const auto made = description(op.kind).made_bytes) return made(op);
  const auto [rows, columns] = real_sizes<2>(op);
  return Bytes(bytes_of(op.dtype) * rows * columns);
}

Bytes working_bytes(const Operator& op) {
  if (const auto working = description(op.kind).working_bytes) return working(op);
  const auto [rows, columns] = real_sizes<2>(op);
  const double chain = op.impl == Impl::kEager ? 2 : 1;  // it holds one intermediate result more
  const bool forward = op.pass == PassKind::kForward;
  return Bytes(bytes_of(op.dtype) * rows * columns * (forward ? chain : 1 + chain));
}

}  // namespace foretrain
