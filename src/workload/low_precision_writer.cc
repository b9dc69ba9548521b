// Products with operands in fewer bits (spec/recipe.h): what casts them, beside the products that take them. Casts are
// written around their product: those of the forward before it, those of the backward after it, as the backward is the
// list reversed. Under sp an activation is cast before it is gathered, where it travels so; that it stands behind the
// exchange here changes no time.
#include <algorithm>

#include "operators/pointwise.h"
#include "operators/quantise.h"
#include "workload/block_writer.h"
#include "workload/optimizer_step.h"

namespace foretrain {
namespace {

bool keeps_input(const PartOperator& product) {
  return std::any_of(product.saves.begin(), product.saves.end(), [](SavedTensor tensor) {
    return tensor == SavedTensor::kInput || tensor == SavedTensor::kInputFp32;
  });
}

bool is_norm(OperatorKind kind) { return kind == OperatorKind::kRmsnorm || kind == OperatorKind::kLayernorm; }

// Routers and gates stay as they are; so do adapters.
bool stays(Width out) { return out == Width::kExperts || out == Width::kOne || out == Width::kRank; }

}  // namespace

bool BlockWriter::is_narrow(const PartOperator& entry) const {
  const RecipeFormats& f = shape_.low.formats;
  if (!shape_.low.is_narrow() || in_adapter_ || entry.fp32) return false;
  if (entry.kind == OperatorKind::kAttention) return f.attention;
  if (entry.kind == OperatorKind::kGroupedProduct) return true;
  return entry.kind == OperatorKind::kLinear && !stays(entry.out) && (entry.out != Width::kVocab || f.head);
}

// What is between the product and the operator before it, but for exchanges and casts.
const BlockItem* BlockWriter::made_by() const {
  for (std::size_t i = items_.size(); i-- > 0;)
    if (!items_[i].exchange && !items_[i].waits && !items_[i].is_cast()) return &items_[i];
  return nullptr;
}

void BlockWriter::add_cast(const Operator& op, PassKind when, std::int64_t launches, std::int64_t times) {
  const bool forward = when == PassKind::kForward;
  BlockItem item;
  item.op = op;
  item.op.launches = static_cast<std::int32_t>(launches);
  item.launches = {forward ? launches : 0, forward ? 0 : launches, 0};
  item.times = times * pieces_;
  item.pieces = pieces_;
  item.has_backward = !forward;
  item.beside = beside_;
  items_.push_back(item);
}

// Of rows of a width, into so many copies. In the backward the list runs from its end.
//
// One scale for what tensor ranks hold shards of: under sp the input of a column-parallel product and the gradient of what a
// row-parallel one made (Transformer Engine's Linear, _customize_quantizers_float8_current_scaling and _nvfp4:
// with_amax_reduction over the tensor group of just these two).
void BlockWriter::quantise(const CastSizes& sizes, PassKind when, bool finds_scale, bool of_weights,
                           bool of_shard) {
  if (sizes.copies == 0) return;
  const RecipeFormats& f = shape_.low.formats;
  const Impl impl = stack_.low_precision.impl;
  const bool scans = finds_scale && f.scaling == Scaling::kCurrent;
  const auto scan = [&] {
    if (!scans) return;
    add_cast(amax({.tokens = sizes.tokens, .width = sizes.width}, {.impl = impl, .dtype = shape_.precision}),
             when, sizes.launches, sizes.times);
    items_.back().over_tensor = of_shard;
  };
  const int kernels = shape_.low.apart(of_weights) ? sizes.copies : 1;
  if (when == PassKind::kForward) scan();
  for (int i = 0; i < kernels; ++i)
    add_cast(
        foretrain::quantise({.tokens = sizes.tokens, .width = sizes.width, .copies = sizes.copies / kernels},
                            {.impl = impl, .dtype = f.forward}),
        when, sizes.launches, sizes.times);
  if (when != PassKind::kForward) scan();
}

void BlockWriter::transpose(const CastSizes& sizes, PassKind when) {
  add_cast(foretrain::transpose({.tokens = sizes.tokens, .width = sizes.width},
                                {.impl = transpose_impl(stack_), .dtype = shape_.low.formats.forward}),
           when, sizes.launches, sizes.times);
}

// What a product with operands in fewer bits asks for, on this rank.
BlockWriter::NarrowProduct BlockWriter::narrow_product(const PartOperator& entry, std::int64_t tokens) const {
  const LowPrecision& low = shape_.low;
  const Stack::LowPrecision& does = stack_.low_precision;
  NarrowProduct p;
  p.to_input = entry.launches[1] > 0 && low.is_narrow(low.formats.input);
  p.to_weights = entry.launches[2] > 0 && low.is_narrow(low.formats.weight);
  p.casts_input = keeps_input(entry) || cast_in_ != entry.in;
  // One scale a tensor: the other copy is made of the first by a transpose, wherever that one has gone.
  p.transposes = low.formats.forward == Dtype::kFp8 && low.by_rows_alone;
  const bool travels = shape_.sp && low.formats.gathers_narrow;
  p.gathers_input = travels && entered_;
  p.gathers_gradient = travels && divides_input(entry);
  const std::int64_t kernels =
      entry.each_expert && low.formats.scaling != Scaling::kDelayed ? experts_here() : 1;
  p.input = {.tokens = p.gathers_input ? tokens / shape_.tp : tokens,
             .width = widths_[entry.in],
             .launches = kernels};
  p.gradient = {.tokens = p.gathers_gradient ? tokens / shape_.tp : tokens,
                .width = widths_[entry.out],
                .launches = kernels,
                .times = entry.times};
  const std::int64_t matrices = entry.kind == OperatorKind::kGroupedProduct ? experts_here() : 1;
  p.weights = {.tokens = widths_[entry.out] * matrices,
               .width = widths_[entry.in],
               .launches = kernels,
               .times = entry.times};
  // Copies by columns: of the input for the weights' gradient, of the weights for the input's.
  const bool at_once = does.saves_copy && !(p.gathers_input && p.transposes);
  p.input.copies = low.copies(true, p.to_weights && at_once);
  p.weights.copies = low.copies(true, p.to_input && does.saves_copy);
  p.gradient.copies =
      p.gathers_gradient && p.transposes && p.to_input ? 1 : low.copies(p.to_input, p.to_weights);
  return p;
}

void BlockWriter::cast_before(const PartOperator& entry, const NarrowProduct& p) {
  const Stack::LowPrecision& does = stack_.low_precision;
  const RecipeFormats& f = shape_.low.formats;
  if (p.casts_input) {
    const BlockItem* maker = made_by();
    const bool by_norm = does.norm_casts && f.scaling == Scaling::kDelayed && maker != nullptr &&
                         is_norm(maker->op.kind) && !frozen();
    if (!by_norm)
      quantise(p.input, PassKind::kForward, true, false, p.gathers_input);
    else if (p.input.copies == 2)
      transpose(p.input, PassKind::kForward);
    cast_in_ = entry.in;
    if (p.gathers_input) travel_narrow(1);
  }
  if (!shape_.low.keeps_weights && !f.params) quantise(p.weights, PassKind::kForward, true, true);
}

// What the exchange before the product gathers is in so many copies.
void BlockWriter::travel_narrow(int copies) {
  for (std::size_t i = items_.size(); i-- > 0;) {
    if (items_[i].is_cast()) continue;
    if (!items_[i].enters()) return;
    items_[i].exchange->gathered = narrow_bytes(items_[i].exchange->bytes, copies);
    return;
  }
}

Bytes BlockWriter::narrow_bytes(Bytes bytes, int copies) const {
  return bytes * (copies * bytes_of(shape_.low.formats.forward) / bytes_of(shape_.precision));
}

void BlockWriter::cast_after(const NarrowProduct& p) {
  const LowPrecision& low = shape_.low;
  const Stack::LowPrecision& does = stack_.low_precision;
  const bool two = low.copies(true, true) == 2;
  const auto whole = [&](CastSizes sizes, bool shared) {
    if (shared) sizes.tokens *= shape_.tp;
    return sizes;
  };
  // Weights by columns, unless they are kept so.
  if (p.to_input && !low.keeps_weights) {
    CastSizes other = p.weights;
    other.copies = 1;
    if (low.formats.params && p.transposes)
      transpose(other, PassKind::kBackward);
    else if (!low.formats.params && !does.saves_copy)
      quantise(other, PassKind::kBackward, false, true);
  }
  // The input by columns, unless it is kept so.
  if (p.to_weights && p.casts_input) {
    CastSizes other = whole(p.input, p.gathers_input);
    other.copies = 1;
    if (!does.saves_copy)
      quantise(other, PassKind::kBackward, false, false);
    else if (p.gathers_input && p.transposes && two)
      transpose(other, PassKind::kBackward);
  }
  if (p.gathers_gradient && p.transposes && p.to_input && p.to_weights)
    transpose(whole(p.gradient, true), PassKind::kBackward);
  quantise(p.gradient, PassKind::kBackward, true, false, p.gathers_gradient);
  if (p.gathers_gradient) left_copies_ = p.transposes ? 1 : std::max(1, static_cast<int>(p.gradient.copies));
}

// Transformer Engine keeps queries, keys, values and what attention made in fp8, since its backward is in fp8 too
// (NVTE_FP8_DPA_BWD, 1 unless it is set). What is run again starts from what the product made.
bool BlockWriter::attends_narrow() const {
  return shape_.low.is_narrow() && shape_.low.formats.attention && stack_.low_precision.saves_copy &&
         !shape_.modules.has(RecomputeModule::kCoreAttention);
}

PartOperator BlockWriter::with_stored_activation(PartOperator entry) const {
  const auto narrow = [](std::vector<SavedTensor>& saves) {
    std::replace(saves.begin(), saves.end(), SavedTensor::kInput, SavedTensor::kInputFp8);
  };
  narrow(entry.saves);
  if (entry.selective_saves) narrow(*entry.selective_saves);
  return entry;
}

// By one kernel, without a scale: backward it reads what the forward wrote and writes what that read.
void BlockWriter::cast_activation(std::int64_t tokens, std::int64_t width, PassKind when) {
  add_cast(foretrain::quantise({.tokens = tokens, .width = width, .copies = 1},
                               {.impl = Impl::kAten, .dtype = Dtype::kFp8}),
           when, 1, 1);
}

// A product's input is kept as the copy that its weights' gradient takes. Attention that is not in fewer bits itself
// needs what it made as it is.
PartOperator BlockWriter::with_narrow_saves(PartOperator entry, const NarrowProduct& p) const {
  if (!p.to_weights || !stack_.low_precision.saves_copy) return entry;
  const BlockItem* maker = made_by();
  const bool of_attention = maker != nullptr && is_attention(maker->op.kind) && !attends_narrow();
  const auto replace = [&](std::vector<SavedTensor>& saves) {
    if (!of_attention) std::erase(saves, SavedTensor::kInput);
    if (p.casts_input) saves.push_back(SavedTensor::kInputCopy);
  };
  replace(entry.saves);
  if (entry.selective_saves) replace(*entry.selective_saves);
  return entry;
}

// Queries, keys and values are cast for attention, backward the gradient of what it made.
void BlockWriter::cast_for_attention(const PartOperator& entry, std::int64_t tokens, PassKind when) {
  const bool forward = when == PassKind::kForward;
  quantise({.tokens = tokens, .width = widths_[forward ? entry.in : entry.out], .copies = 1}, when, true,
           false);
}

}  // namespace foretrain
