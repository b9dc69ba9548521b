// Fine-tuning beside frozen weights: of a product its W is gone, and with it what W would read. An adapter that
// stands beside it reads the same input, and keeps it; where it casts or drops that out first, it keeps the copy.
#include <algorithm>

#include "operators/dequantise.h"
#include "operators/product.h"
#include "workload/block_writer.h"

namespace foretrain {
namespace {

bool has_weights(OperatorKind kind) {
  return kind == OperatorKind::kLinear || kind == OperatorKind::kGroupedProduct;
}

bool keeps_input(const PartOperator& product) {
  return std::any_of(product.saves.begin(), product.saves.end(), [](SavedTensor tensor) {
    return tensor == SavedTensor::kInput || tensor == SavedTensor::kInputFp32;
  });
}

void drop_input(std::vector<SavedTensor>& saves) {
  std::erase_if(saves, [](SavedTensor tensor) {
    return tensor == SavedTensor::kInput || tensor == SavedTensor::kInputFp32;
  });
}

}  // namespace

PartOperator BlockWriter::without_weight_gradients(PartOperator entry) const {
  // A bias' backward is its gradient alone; so is what runs over experts' weights.
  if (entry.kind == OperatorKind::kBias || entry.kind == OperatorKind::kEmbedding ||
      entry.rows == Rows::kWeights)
    entry.launches[1] = 0;
  if (entry.kind == OperatorKind::kEmbedding) entry.saves.clear();
  if (!has_weights(entry.kind)) return entry;
  entry.launches[2] = 0;
  drop_input(entry.saves);
  if (entry.selective_saves) drop_input(*entry.selective_saves);
  return entry;
}

// The first of several products with one input says that it is kept; where none does, another part keeps it.
void BlockWriter::note_input(const PartOperator& product) {
  if (product.kind != OperatorKind::kLinear) return;
  if (keeps_input(product)) {
    shared_in_ = product.in;
    shared_kept_ = false;
  } else if (shared_in_ != product.in) {
    shared_in_ = product.in;
    shared_kept_ = true;
  }
}

void BlockWriter::dequantise(const PartOperator& product) {
  if (!shape_.adapters.quantised() || !can_be_quantised(product)) return;
  for (const PartOperator& entry : stack_.parts.dequantise) {
    BlockItem item;
    item.op = foretrain::dequantise({.rows = widths_[product.out],
                                     .columns = widths_[product.in],
                                     .bits = shape_.adapters.base == BaseFormat::kNf4 ? 4 : 8},
                                    {.impl = entry.impl, .dtype = shape_.precision});
    item.launches = {entry.launches[0], entry.launches[1], 0};
    item.op.launches = static_cast<std::int32_t>(entry.launches[0]);
    item.times = product.times * pieces_;
    item.pieces = pieces_;
    item.selective = product.selective && shape_.modules.has(RecomputeModule::kCoreAttention);
    item.beside = beside_;
    items_.push_back(item);
  }
}

// The whole matrix is there while a product takes it.
void BlockWriter::hold_dequantised(BlockItem& item) const {
  if (!shape_.adapters.quantised() || items_.empty()) return;
  if (items_.back().op.kind != OperatorKind::kDequantise || items_.back().exchange) return;
  const Bytes matrix = made_bytes(items_.back().op);
  Operator backward = item.op;
  backward.pass = PassKind::kInput;
  item.extra = {working_bytes(item.op) + matrix, working_bytes(backward) + matrix};
}

void BlockWriter::adapters(const PartOperator& product, bool sequence_region) {
  const auto slots = slots_.beside(product, widths_);
  items_.back().adapters = static_cast<std::int64_t>(slots.size());
  for (const AdapterSlot& slot : slots) adapter(slot, divides_input(product), sequence_region);
}

// Beside a product whose input tensor ranks divide, A's partial sums are added up; beside one whose output they
// do, the gradients of what A makes are.
void BlockWriter::adapter(const AdapterSlot& slot, bool row_parallel, bool sequence_region) {
  in_adapter_ = true;
  widths_.set(Width::kRank, shape_.adapters.rank);
  widths_.set(Width::kAdapterIn, slot.in);
  widths_.set(Width::kAdapterOut, slot.out);
  bool copied = false;
  for (const PartOperator& entry : stack_.parts.adapter) {
    if (!applies(entry.when)) continue;
    const bool first = entry.kind == OperatorKind::kLinear && entry.out == Width::kRank;
    input_kept_ = first && !copied && shared_kept_;
    add(entry, sequence_region);
    input_kept_ = false;
    copied = copied || (!first && entry.launches[0] > 0);
    if (!first) continue;
    if (!copied) shared_kept_ = true;
    if (shape_.tp == 1) continue;
    using enum CollectiveKind;
    add_exchange({.group = GroupKind::kTensor,
                  .forward = row_parallel ? std::optional(kAllReduce) : std::nullopt,
                  .backward = row_parallel ? std::nullopt : std::optional(kAllReduce),
                  .bytes = activation(shape_.adapters.rank)});
  }
  in_adapter_ = false;
}

}  // namespace foretrain
