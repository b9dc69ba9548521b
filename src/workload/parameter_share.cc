#include "workload/parameter_share.h"

#include <algorithm>

#include "workload/adapter_slots.h"
#include "workload/widths.h"

namespace foretrain {
namespace {

// Weight matrices of a part, which holds each as a product.
std::int64_t matrices(const Part& part, const Model& model) {
  std::int64_t count = 0;
  for (const PartOperator& op : part) {
    const bool other_form = op.when == (model.fused_qkv ? Condition::kSplitQkv : Condition::kFusedQkv);
    if (op.kind == OperatorKind::kLinear && !other_form) count += op.times;
  }
  return count;
}

// Likewise of the experts: one for all of them, or one each.
std::int64_t expert_tensors(const Part& part, std::int64_t experts) {
  std::int64_t count = 0;
  for (const PartOperator& op : part)
    if (op.kind == OperatorKind::kGroupedProduct) count += op.times * (op.each_expert ? experts : 1);
  return count;
}

std::int64_t norm_tensors(const Model& model) {
  return (model.norm_weights ? 1 : 0) + (model.norm_bias && model.norm == Norm::kLayernorm ? 1 : 0);
}

// Of one layer: matrices with biases and norms.
struct Weights {
  std::int64_t matrices = 0;  // elements of these
  std::int64_t wide = 0;      // of them, those of routers and gates, which stay in the format of the passes
  std::int64_t others = 0;    // and of all else
  std::int64_t tensors = 0;
  std::int64_t largest = 0;      // matrix; of experts, all of them
  MatrixKinds* kinds = nullptr;  // where somebody wants them

  void add(std::int64_t rows, std::int64_t columns, std::int64_t count = 1) {
    const std::int64_t elements = rows * columns * count;
    matrices += elements;
    largest = std::max(largest, elements);
    if (kinds != nullptr) kinds->add(rows, columns, count);
  }
  // Of a router or a gate.
  void add_wide(std::int64_t elements) {
    matrices += elements;
    largest = std::max(largest, elements);
  }
};

// Down-projections and norms of latents are whole on every rank.
void add_latent(const Model& model, const Attention& a, std::int64_t tp, Weights& out) {
  const std::int64_t h = model.hidden, q = a.q_width() / tp;
  if (a.q_rank > 0) out.add(h, a.q_rank), out.add(a.q_rank, q);
  if (a.q_rank == 0) out.add(h, q);
  out.add(h, a.kv_rank + a.rope_dim);
  out.add(a.kv_rank, heads_of(a, tp) * (a.nope_dim + a.v_dim));
  out.others += a.q_rank + a.kv_rank;
  const std::int64_t products = a.q_rank > 0 ? 4 : 3;
  out.tensors += products + (a.q_rank > 0 ? 2 : 1);
  if (model.qkv_bias) out.others += a.q_rank + a.kv_rank + a.rope_dim, out.tensors += 2;
}

void add_grouped_query(const Model& model, const Stack& stack, const Attention& a, std::int64_t tp,
                       Weights& out) {
  const std::int64_t q = a.q_width() / tp, kv = kv_heads_of(a, tp) * a.head_dim;
  const std::int64_t tensors = matrices(stack.parts.qkv, model);
  out.add(model.hidden, q + 2 * kv);
  out.tensors += tensors;
  if (model.qkv_bias) out.others += q + 2 * kv, out.tensors += tensors;
  if (a.qk_norm == QkNorm::kNone) return;
  const std::int64_t of_norm = a.qk_norm == QkNorm::kOwnHead ? 1 : norm_tensors(model);
  out.others += of_norm * (a.qk_norm == QkNorm::kHead ? 2 * a.head_dim : q + kv);
  out.tensors += 2 * of_norm;
}

void add_attention(const Model& model, const Stack& stack, const Attention& a, std::int64_t tp,
                   Weights& out) {
  a.is_latent() ? add_latent(model, a, tp, out) : add_grouped_query(model, stack, a, tp, out);
  const std::int64_t tensors = matrices(stack.parts.projection, model);
  out.add(a.out_width() / tp, model.hidden);
  out.tensors += tensors;
  if (model.projection_bias)
    out.others += model.hidden, out.tensors += tensors;  // row-parallel: on every rank
  if (a.sinks) out.others += heads_of(a, tp), ++out.tensors;
}

void add_mlp(const Model& model, const Stack& stack, const FeedForward& f, std::int64_t ffn, std::int64_t tp,
             Weights& out) {
  const std::int64_t h = model.hidden, up = f.up_width(ffn) / tp;
  const std::int64_t tensors = matrices(stack.parts.mlp[static_cast<std::size_t>(f.mlp)], model);
  out.add(h, up);
  out.add(ffn / tp, h);
  out.tensors += tensors;
  if (model.biases) out.others += up + h, out.tensors += tensors;
  if (f.trained_activation) out.others += 2, out.tensors += 2;
}

// The experts alone, which lie on ranks of their own.
void add_experts(const Model& model, const Stack& stack, const FeedForward& f, const WeightRanks& ranks,
                 Weights& out) {
  const std::int64_t h = model.hidden, up = f.up_width(f.expert_ffn) / ranks.etp;
  const std::int64_t experts = f.experts / ranks.ep;
  out.add(h, up, experts);
  out.add(f.expert_ffn / ranks.etp, h, experts);
  const std::int64_t tensors = expert_tensors(stack.parts.experts[static_cast<std::size_t>(f.mlp)], experts);
  out.tensors += tensors;
  if (model.biases) out.others += experts * (up + h), out.tensors += tensors;
}

// What stands beside them on every rank: router and shared experts.
void add_beside_experts(const Model& model, const Stack& stack, const FeedForward& f, std::int64_t tp,
                        Weights& out) {
  const std::int64_t h = model.hidden;
  out.add_wide(h * f.experts);
  out.wide += h * f.experts + (f.shared_gate ? h : 0);
  out.tensors += 1;
  if (model.biases) out.others += f.experts, ++out.tensors;
  if (f.shared_ffn > 0) add_mlp(model, stack, f, f.shared_ffn, tp, out);
  if (f.shared_gate) out.add_wide(h), ++out.tensors;
  if (f.balancing_bias) out.others += f.experts, ++out.tensors;
}

// Layers of one kind, some of which stay in the format of the passes.
void add_layers(const Model& model, const Stack& stack, const WeightRanks& ranks, const Block& b,
                std::int64_t count, std::int64_t plain, ParameterShare& share) {
  const std::int64_t tp = ranks.tp;
  const std::int64_t norms = norms_of_block(model);
  const FeedForward& f = b.feed_forward;
  Weights experts;
  if (f.has_experts()) add_experts(model, stack, f, ranks, experts);
  share.experts.elements += count * (experts.matrices + experts.others);
  share.experts.matrix_elements += count * experts.matrices;
  share.experts.narrow_elements += (count - plain) * experts.matrices;

  Weights layer = experts;
  layer.others += norms * norm_parameters(model);
  layer.tensors += norms * norm_tensors(model);
  add_attention(model, stack, b.attention, tp, layer);
  if (f.has_experts())
    add_beside_experts(model, stack, f, tp, layer);
  else
    add_mlp(model, stack, f, f.ffn, tp, layer);
  share.elements += count * (layer.matrices + layer.others);
  share.matrix_elements += count * layer.matrices;
  share.narrow_elements += (count - plain) * (layer.matrices - layer.wide);
  share.tensors += count * layer.tensors;
  share.largest_matrix = std::max(share.largest_matrix, layer.largest);
  share.largest_tensor = std::max(share.largest_tensor, share.largest_matrix);
}

// All weights of the model.
ParameterShare whole_share(const Model& model, const Stack& stack, const WeightRanks& ranks,
                           const Chunk& chunk, bool ends_together) {
  const std::int64_t tp = ranks.tp;
  const std::int64_t h = model.hidden, norm = norm_parameters(model), norms = norm_tensors(model);
  ParameterShare share;
  const BlockKinds kinds(model);
  for (std::size_t k = 0; k < kinds.size(); ++k)
    if (const std::int64_t layers = layers_of(model, stack, chunk, k); layers > 0)
      add_layers(model, stack, ranks, kinds[k], layers, chunk.plain[k], share);
  const std::int64_t table = padded_vocab(model, stack, tp) / tp * h;
  if (chunk.first || chunk.last) share.largest_tensor = std::max(share.largest_tensor, table);
  if (chunk.first) {
    share.elements += table + position_parameters(model) + (model.embedding_norm ? norm : 0);
    share.tensors += 1 + (position_parameters(model) > 0 ? 1 : 0) + (model.embedding_norm ? norms : 0);
  }
  if (chunk.last) {
    share.elements += norm;
    share.tensors += norms;
    if (!model.tied || !ends_together) share.elements += table, ++share.tensors;
    if (model.head_bias) share.elements += padded_vocab(model, stack, tp) / tp, ++share.tensors;
  }
  const std::int64_t mtp = mtp_layers_of(model, stack);
  if (chunk.last && mtp > 0) {
    share.elements += mtp * (2 * h * h + 3 * norm);
    share.matrix_elements += mtp * 2 * h * h;
    share.narrow_elements += mtp * 2 * h * h;
    share.tensors += mtp * (1 + 3 * norms);
    if (!ends_together && !model.tied) share.elements += table, ++share.tensors;  // the embedding once more
  }
  if ((model.tied || mtp > 0) && !ends_together && (chunk.first || chunk.last))
    share.embedding_elements = table;
  return share;
}

// Adapters of one block, and the matrices that may lie in fewer bits, from the products that its stack lists.
class AdapterCounter {
 public:
  AdapterCounter(const Model& model, const Stack& stack, const WeightRanks& ranks,
                 const AdapterChoices& adapters, const Block& block)
      : model_(model),
        block_(block),
        rank_(adapters.rank),
        tp_(ranks.tp),
        slots_(model, stack, adapters),
        widths_(widths_of(model, stack, block, ranks, 1)) {}

  void count(const Stack::Parts& parts) {
    const FeedForward& f = block_.feed_forward;
    if (block_.attention.is_latent()) {
      part(parts.latent_down);
      part(parts.latent_up);
    } else {
      part(parts.qkv);
    }
    part(parts.projection);
    if (f.has_experts()) widths_.set_ffn(f, f.shared_ffn, tp_);
    if (!f.has_experts() || f.shared_ffn > 0) part(parts.mlp[static_cast<std::size_t>(f.mlp)]);
  }

  // Of so many such layers, some of which stay in the format of the passes.
  void add_to(ParameterShare& share, std::int64_t layers, std::int64_t plain) const {
    share.elements += layers * elements_;
    share.matrix_elements += layers * elements_;
    share.tensors += layers * tensors_;
    share.largest_matrix = std::max(share.largest_matrix, largest_);
    share.largest_tensor = std::max(share.largest_tensor, largest_);
    share.frozen.quantised += layers * quantised_;
    share.frozen.narrow[WeightClass::kCommon] += (layers - plain) * quantised_;
    share.frozen.quantised_rows += layers * rows_;
    share.frozen.largest_quantised = std::max(share.frozen.largest_quantised, largest_quantised_);
  }

 private:
  bool is_there(Condition when) const {
    switch (when) {
      case Condition::kFusedQkv:
        return model_.fused_qkv;
      case Condition::kSplitQkv:
        return !model_.fused_qkv;
      case Condition::kQRank:
        return block_.attention.q_rank > 0;
      case Condition::kNoQRank:
        return block_.attention.q_rank == 0;
      default:
        return true;
    }
  }

  void part(const Part& part) {
    for (const PartOperator& op : part) {
      if (op.kind != OperatorKind::kLinear || !is_there(op.when)) continue;
      const std::int64_t in = widths_[op.in], out = widths_[op.out];
      quantised_ += op.times * in * out;
      rows_ += op.times * out;
      largest_quantised_ = std::max(largest_quantised_, in * out);
      for (const AdapterSlot& slot : slots_.beside(op, widths_)) {
        elements_ += rank_ * (slot.in + slot.out);
        largest_ = std::max(largest_, rank_ * std::max(slot.in, slot.out));
        tensors_ += 2;
      }
    }
  }

  const Model& model_;
  const Block& block_;
  std::int64_t rank_, tp_;
  AdapterSlots slots_;
  Widths widths_;
  std::int64_t elements_ = 0, tensors_ = 0, largest_ = 0;
  std::int64_t quantised_ = 0, rows_ = 0, largest_quantised_ = 0;
};

}  // namespace

void FrozenShare::add(const FrozenShare& other) {
  for (const WeightClass weights : kWeightClasses) {
    elements[weights] += other.elements[weights];
    narrow[weights] += other.narrow[weights];
  }
  quantised += other.quantised;
  quantised_rows += other.quantised_rows;
  largest_quantised = std::max(largest_quantised, other.largest_quantised);
}

void ParameterShare::add(const ParameterShare& other) {
  elements += other.elements;
  tensors += other.tensors;
  embedding_elements += other.embedding_elements;
  matrix_elements += other.matrix_elements;
  narrow_elements += other.narrow_elements;
  experts.elements += other.experts.elements;
  experts.matrix_elements += other.experts.matrix_elements;
  experts.narrow_elements += other.experts.narrow_elements;
  largest_matrix = std::max(largest_matrix, other.largest_matrix);
  largest_tensor = std::max(largest_tensor, other.largest_tensor);
  frozen.add(other.frozen);
}

Bytes FrozenShare::bytes(WeightClass weights, const AdapterChoices& adapters, Dtype precision) const {
  const double all = static_cast<double>(elements[weights]);
  if (weights == WeightClass::kExperts || !adapters.quantised()) return Bytes(all * bytes_of(precision));
  const double few = static_cast<double>(quantised);
  return Bytes((all - few) * bytes_of(precision) + quantised_bytes(adapters.base, adapters.double_quant, few,
                                                                   static_cast<double>(quantised_rows)));
}

ParameterShare parameter_share(const Model& model, const Stack& stack, const WeightRanks& ranks,
                               const Chunk& chunk, bool ends_together, const AdapterChoices& adapters) {
  const ParameterShare whole = whole_share(model, stack, ranks, chunk, ends_together);
  if (!adapters.frozen()) return whole;
  ParameterShare share;
  for (const WeightClass weights : kWeightClasses)
    share.frozen.elements[weights] = whole.of(weights).elements;
  share.frozen.narrow[WeightClass::kExperts] = whole.experts.narrow_elements;
  const BlockKinds kinds(model);
  for (std::size_t k = 0; k < kinds.size(); ++k)
    if (const std::int64_t layers = layers_of(model, stack, chunk, k); layers > 0) {
      AdapterCounter counter(model, stack, ranks, adapters, kinds[k]);
      counter.count(stack.parts);
      counter.add_to(share, layers, chunk.plain[k]);
    }
  return share;
}

MatrixKinds matrices_of(const Model& model, const Stack& stack, const WeightRanks& ranks, const Chunk& chunk,
                        std::optional<WeightClass> of) {
  MatrixKinds all;
  const auto wanted = [&](WeightClass weights) { return !of || *of == weights; };
  const BlockKinds kinds(model);
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const std::int64_t layers = layers_of(model, stack, chunk, k);
    const Block& block = kinds[k];
    const FeedForward& f = block.feed_forward;
    MatrixKinds layer;
    Weights weights;
    weights.kinds = &layer;
    if (f.has_experts() && wanted(WeightClass::kExperts)) add_experts(model, stack, f, ranks, weights);
    if (wanted(WeightClass::kCommon)) {
      add_attention(model, stack, block.attention, ranks.tp, weights);
      if (f.has_experts())
        add_beside_experts(model, stack, f, ranks.tp, weights);
      else
        add_mlp(model, stack, f, f.ffn, ranks.tp, weights);
    }
    for (std::size_t i = 0; i < layer.size; ++i)
      all.add(layer.kinds[i].shorter, layer.kinds[i].longer, layer.kinds[i].count * layers);
  }
  return all;
}

}  // namespace foretrain
