#include "operators/dequantise.h"

#include "operators/light.h"

namespace foretrain {
namespace {

// Of four bits, with an fp32 scale for 64; of eight, one for a row.
double stored(const Operator& op) {
  const auto [rows, columns, bits] = real_sizes<3>(op);
  return rows * columns * (bits / 8 + (bits < 8 ? 4.0 / 64 : 0)) + (bits < 8 ? 0 : 4 * rows);
}

// An eager chain, kernel by kernel for two elements of a byte: shifted and masked (1 read, 1 written each),
// widened to eight bytes (1, 8), looked up (8, 2), scaled (2, 2), and both joined (4, 4). As torchao's nf4tensor
// reads; assumed to be so in every release.
constexpr double kEagerBytes = (2 * (2 + 9 + 10 + 4) + 8) / 2.0;

Bytes moved(const Operator& op) {
  const auto [rows, columns] = real_sizes<2>(op);
  if (is_eager(op)) return Bytes(rows * columns * kEagerBytes);
  return Bytes(stored(op) + rows * columns * bytes_of(op.dtype));
}

// The matrix itself: that it stays while a product takes it is that product's to say.
Bytes made(const Operator& op) {
  const auto [rows, columns] = real_sizes<2>(op);
  return Bytes(rows * columns * bytes_of(op.dtype));
}

std::int32_t launches(const Operator& op) { return is_eager(op) ? 11 : 1; }

// What one kernel reaches of a stream is assumed: lookups stand beside the loads.
constinit const Description kTable[] = {
    {.kind = OperatorKind::kDequantise,
     .size_names = QuantisedSizes::kNames,
     .bytes = moved,
     .usual_launches = launches,
     .made_bytes = made,
     .working_bytes = made,
     .stream_share = 0.7,
     .analytic_spread = 0.3},
};

}  // namespace

constinit const std::span<const Description> kQuantised = kTable;

}  // namespace foretrain
