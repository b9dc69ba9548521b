#include "workload/block_writer.h"

#include <algorithm>
#include <cmath>

#include "operators/embedding.h"
#include "operators/experts.h"
#include "operators/pointwise.h"
#include "operators/product.h"
#include "operators/softmax.h"
#include "workload/context_attention.h"
#include "workload/pieces.h"

namespace foretrain {

BlockWriter::BlockWriter(const Model& model, const Stack& stack, const PassShape& shape, const Block& block)
    : model_(model),
      stack_(stack),
      shape_(shape),
      block_(block),
      widths_(widths_of(model, stack, block, shape.weight_ranks(), shape.seq)),
      slots_(model, stack, shape.adapters) {}

void BlockWriter::part(const Part& part, bool sequence_region) {
  for (const PartOperator& entry : part) {
    if (!applies(entry.when)) continue;
    add(entry, sequence_region);
    input_kept_ = false;  // what the first one makes is another tensor
  }
}

void BlockWriter::part_on_kept_input(const Part& part, bool sequence_region) {
  input_kept_ = true;
  this->part(part, sequence_region);
}

void BlockWriter::norm_of_parts(const Part& norm, std::int64_t parts, std::int64_t width) {
  norm_parts_ = parts;
  norm_width_ = width;
  part(norm, false);
  norm_parts_ = 0;
}

void BlockWriter::shared_mlp(const Part& mlp, Half half) {
  const auto last = std::find_if(mlp.rbegin(), mlp.rend(),
                                 [](const PartOperator& op) { return op.kind == OperatorKind::kLinear; });
  const auto middle = last == mlp.rend() ? mlp.end() : last.base() - 1;
  const Part operators = half == Half::kUp ? Part(mlp.begin(), middle) : Part(middle, mlp.end());
  widths_.set_ffn(block_.feed_forward, block_.feed_forward.shared_ffn, shape_.tp);
  // What is gathered and stays is another tensor; so is the fp32 copy that a router keeps.
  if (half == Half::kUp)
    input_kept_ = !frozen() && (shape_.tp == 1 || shape_.sp_gather_again) &&
                  block_.feed_forward.router != Router::kFp32;
  part(operators, false);
  widths_.set_ffn(block_.feed_forward, block_.feed_forward.ffn, shape_.tp);
}

void BlockWriter::dense_mlp(const Part& mlp) {
  const std::size_t begin = items_.size();
  pieces_ = std::min(shape_.mlp_chunks, all_tokens());
  part(mlp, false);
  if (pieces_ > 1) {
    tile(std::span(items_).subspan(begin));
    BlockItem joined;  // what the pieces made is put together
    joined.op = pointwise(OperatorKind::kCopy, {.tokens = all_tokens(), .width = model_.hidden},
                          {.impl = Impl::kAten, .dtype = shape_.precision});
    joined.launches = {1, 0, 0};
    joined.has_backward = false;
    items_.push_back(joined);
  }
  pieces_ = 1;
}

void BlockWriter::head(const Part& head, const Part& loss) {
  const std::size_t begin = items_.size();
  pieces_ = loss_pieces(shape_.loss, all_tokens(), model_.hidden, widths_[Width::kVocab]);
  part(head, false);
  part(shape_.loss.kind == LossKind::kFused ? fused_loss() : loss, false);
  if (shape_.loss.kind != LossKind::kWhole) work_in_pieces(std::span(items_).subspan(begin), shape_.loss);
  pieces_ = 1;
}

void BlockWriter::experts(const Part& experts) {
  const auto is_product = [](const PartOperator& op) { return op.kind == OperatorKind::kGroupedProduct; };
  for (auto op = experts.begin(); op != experts.end();) {
    const auto end = is_product(*op) ? op + 1 : std::find_if(op, experts.end(), is_product);
    // What follows the last product is no activation.
    const bool activation = !is_product(*op) && end != experts.end();
    std::optional<Module> module;
    if (activation) module.emplace(*this, RecomputeModule::kMoeActivation);
    part(Part(op, end), true);
    op = end;
  }
}

BlockWriter::Module::Module(BlockWriter& writer, RecomputeModule module)
    : writer_(writer),
      begin_(writer.items_.size()),
      outermost_(!writer.again_ && writer.shape_.modules.has(module)) {
  if (outermost_) writer_.again_ = true;
}

// All of it is run again from what came in, so that neither what it made nor what it kept on the way stays.
BlockWriter::Module::~Module() {
  if (!outermost_) return;
  writer_.again_ = false;
  bool first = true;
  for (std::size_t i = begin_; i < writer_.items_.size(); ++i) {
    BlockItem& item = writer_.items_[i];
    item.selective = true;
    if (item.exchange || item.waits || item.is_cast() || item.op.kind == OperatorKind::kDequantise) continue;
    item.selective_saved = first ? item.saved_input : Bytes(0);
    first = false;
  }
  writer_.made_again_ = !first;
}

void BlockWriter::enter(std::int64_t width) {
  if (shape_.tp == 1) return;
  if (width == 0) width = model_.hidden;
  if (shape_.sp && !shape_.sp_gather_again)
    made_again_ = false;  // what is gathered is kept, and not made again
  using enum CollectiveKind;
  add_exchange({.group = GroupKind::kTensor,
                .forward = shape_.sp ? std::optional(kAllGather) : std::nullopt,
                .backward = shape_.sp ? kReduceScatter : kAllReduce,
                .bytes = activation(width),
                .enters = true});
  entered_ = true;
}

void BlockWriter::leave() {
  if (shape_.tp == 1) return;
  using enum CollectiveKind;
  add_exchange(
      {.group = GroupKind::kTensor,
       .forward = shape_.sp ? kReduceScatter : kAllReduce,
       .backward = shape_.sp ? std::optional(kAllGather) : std::nullopt,
       .bytes = activation(model_.hidden),
       .gathered = left_copies_ > 0 ? narrow_bytes(activation(model_.hidden), left_copies_) : Bytes(0)});
  left_copies_ = 0;
}

void BlockWriter::add_exchange(const Exchange& exchange) {
  BlockItem item;
  item.exchange = exchange;
  items_.push_back(item);
}

Bytes BlockWriter::activation(std::int64_t width) const {
  return Bytes(static_cast<double>(all_tokens() * width) * bytes_of(shape_.precision));
}

void BlockWriter::add(const PartOperator& stated, bool sequence_region) {
  const bool base = frozen() && !in_adapter_;
  if (base) note_input(stated);
  PartOperator entry = base ? without_weight_gradients(stated) : stated;
  if (base) dequantise(entry);
  const bool shared = sequence_region && shape_.sp;
  std::int64_t tokens = shared ? all_tokens() / shape_.tp : all_tokens();
  if (entry.rows == Rows::kRouted) tokens = routed_rows(tokens);
  if (entry.rows == Rows::kWeights) tokens = experts_here() * model_.hidden;
  if (pieces_ > 1) tokens = (tokens + pieces_ - 1) / pieces_;
  const bool stores = shape_.stores_activation && entry.kind == OperatorKind::kSwiglu;
  if (stores) entry = with_stored_activation(std::move(entry));
  if (feeds_attention_ && attends_narrow()) std::erase(entry.saves, SavedTensor::kOutput);
  const bool narrow = is_narrow(entry), attends = entry.kind == OperatorKind::kAttention;
  NarrowProduct product;
  if (narrow && !attends) {
    product = narrow_product(entry, tokens);
    entry = with_narrow_saves(entry, product);
    cast_before(entry, product);
  } else if (narrow) {
    cast_for_attention(entry, tokens, PassKind::kForward);
  }
  if (stores) cast_activation(tokens, 2 * widths_[entry.in], PassKind::kForward);

  BlockItem item;
  item.op.kind = entry.kind;
  item.op.impl = is_attention(entry.kind) && shape_.attention_kernel ? kernel_impl(*shape_.attention_kernel)
                                                                     : entry.impl;
  // Casts are counted in the format of the passes.
  const bool wide =
      entry.fp32 || (in_adapter_ && shape_.adapters.fp32 && entry.when != Condition::kAdapterFp32);
  item.op.dtype = wide ? Dtype::kFp32 : narrow ? shape_.low.formats.forward : shape_.precision;
  if (narrow && attends) item.op.dtype = Dtype::kFp8;  // whatever blocks its products have beside
  item.narrow = narrow && !attends;
  item.input_dtype = shape_.low.formats.input;
  item.weight_dtype = shape_.low.formats.weight;
  item.launches = entry.launches;
  item.times = entry.times * pieces_;
  item.pieces = pieces_;
  // Each expert has its share of the rows; over weights each goes through all of them.
  if (entry.each_expert && entry.rows == Rows::kWeights)
    item.times *= experts_here();
  else if (entry.each_expert)
    for (std::int64_t& launches : item.launches) launches *= experts_here();
  item.op.launches = static_cast<std::int32_t>(item.launches[0]);
  item.selective = entry.selective && shape_.modules.has(RecomputeModule::kCoreAttention);
  item.beside = beside_;

  const Amounts amounts = set_sizes(item.op, entry, tokens);
  const std::int64_t times = entry.times * pieces_;
  item.saved = saved_bytes(entry.saves, amounts, times);
  if (attends && attends_narrow())
    item.saved +=
        Bytes(bytes_of(Dtype::kFp8) * static_cast<double>(tokens * (widths_[entry.in] + widths_[entry.out])));
  const bool selects = shape_.modules.has(RecomputeModule::kCoreAttention);
  item.saved_input =
      saved_input(selects && stated.selective_saves ? *stated.selective_saves : stated.saves, amounts, times);
  if (!selects)
    item.selective_saved = item.saved;
  else if (entry.selective_saves)
    item.selective_saved = saved_bytes(*entry.selective_saves, amounts, times);
  else if (!entry.selective)
    item.selective_saved = item.saved;
  if (made_again_) item.selective_saved = std::max(Bytes(0), item.selective_saved - item.saved_input);
  made_again_ = false;
  if (entry.extra)
    item.extra = {Bytes((*entry.extra)[0] * amounts.outputs), Bytes((*entry.extra)[1] * amounts.outputs)};
  if (base) hold_dequantised(item);
  item.has_backward = entry.launches[1] > 0 || entry.launches[2] > 0;
  if (shape_.experts.reads) item.reads = entry.waits * (entry.each_expert ? experts_here() : 1);
  if (entry.kind == OperatorKind::kAttention && shape_.context.ranks > 1)
    add_context(item, tokens);
  else if (item.op.launches > 0 || item.has_backward)
    items_.push_back(item);
  if (entry.kind == OperatorKind::kRope && model_.rotary_fraction < 1) add_rejoin(entry, tokens);
  if (base) adapters(stated, sequence_region);
  if (narrow && !attends) cast_after(product);
  if (narrow && attends) cast_for_attention(entry, tokens, PassKind::kBackward);
  if (stores) cast_activation(tokens, 2 * widths_[entry.in], PassKind::kBackward);
}

Amounts BlockWriter::set_sizes(Operator& op, const PartOperator& entry, std::int64_t tokens) {
  Amounts amounts{.inputs = static_cast<double>(tokens * widths_[entry.in]),
                  .outputs = static_cast<double>(tokens * widths_[entry.out]),
                  .stats = 8.0 * static_cast<double>(tokens)};  // mean and deviation of a row, fp32
  switch (entry.kind) {
    case OperatorKind::kLinear:
      op.set(LinearSizes{.m = tokens, .k = widths_[entry.in], .n = widths_[entry.out]});
      // A gathered input can be dropped and gathered again: then only this rank's share is kept.
      if (entered_ && shape_.sp_gather_again) amounts.inputs /= static_cast<double>(shape_.tp);
      entered_ = false;
      break;
    case OperatorKind::kGroupedProduct:
      op.set(GroupedSizes{
          .experts = experts_here(), .m = tokens, .k = widths_[entry.in], .n = widths_[entry.out]});
      break;
    case OperatorKind::kPermute:
    case OperatorKind::kUnpermute:
    case OperatorKind::kRoute:
      set_routing(op, entry, tokens, amounts);
      break;
    case OperatorKind::kBatchedProduct:
      amounts = set_score_product(op, attention_here(), entry.out == Width::kScores);
      break;
    case OperatorKind::kAttention:
      amounts = set_attention(op, attention_here());
      break;
    case OperatorKind::kEmbedding:
      op.set(EmbeddingSizes{.tokens = tokens, .width = model_.hidden, .vocab = widths_[Width::kVocab]});
      // Token numbers, int64.
      amounts.inputs = 8.0 / bytes_of(shape_.precision) * static_cast<double>(tokens);
      break;
    case OperatorKind::kCrossEntropy:
      op.set(LogitSizes{.tokens = tokens, .vocab = widths_[Width::kVocab]});
      break;
    case OperatorKind::kRope: {
      // Rotation touches a fraction of each head of q and k.
      const double rotated = static_cast<double>(widths_[entry.in]) * model_.rotary_fraction;
      op.set(TokenSizes{.tokens = tokens,
                        .width = std::max<std::int64_t>(static_cast<std::int64_t>(rotated), 1)});
      break;
    }
    default:
      set_pointwise(op, entry.in, tokens, amounts);
  }
  return amounts;
}

// Of so many tokens, whatever the rows that come of them.
void BlockWriter::set_routing(Operator& op, const PartOperator& entry, std::int64_t tokens,
                              Amounts& amounts) const {
  const FeedForward& f = block_.feed_forward;
  if (op.kind == OperatorKind::kRoute) {
    op.set(RouteSizes{.tokens = tokens, .experts = f.experts, .top_k = f.top_k});
    amounts.inputs = static_cast<double>(tokens * f.experts);
    amounts.outputs = static_cast<double>(tokens * f.top_k);
    return;
  }
  op.set(SentSizes{.tokens = tokens, .width = widths_[entry.in], .top_k = f.top_k});
  const double rows = static_cast<double>(tokens * widths_[entry.in]);
  const double sent = rows * static_cast<double>(f.top_k);
  amounts.inputs = op.kind == OperatorKind::kPermute ? rows : sent;
  amounts.outputs = op.kind == OperatorKind::kPermute ? sent : rows;
}

// Norms, activations, copies, dropout and the softmax of scores: rows of columns, each on its own.
void BlockWriter::set_pointwise(Operator& op, Width in, std::int64_t tokens, Amounts& amounts) const {
  std::int64_t rows = tokens, columns = widths_[in];
  if (in == Width::kScores) rows *= heads();
  if (norm_parts_ > 0) {
    rows = all_tokens() * norm_parts_;
    columns = norm_width_;
    amounts.stats = 8.0 * static_cast<double>(rows);
  }
  if (op.kind == OperatorKind::kSoftmax)
    op.set(RowSizes{.rows = rows, .columns = columns});
  else
    op.set(TokenSizes{.tokens = rows, .width = columns});
  amounts.inputs = amounts.outputs = static_cast<double>(rows * columns);
  if (op.kind == OperatorKind::kSwiglu || op.kind == OperatorKind::kGeglu) amounts.inputs *= 2;
}

Bytes BlockWriter::saved_bytes(const std::vector<SavedTensor>& saves, const Amounts& amounts,
                               std::int64_t times) const {
  double saved = 0;
  for (const SavedTensor tensor : saves) saved += saved_bytes(tensor, amounts);
  return Bytes(saved * static_cast<double>(times));
}

// In the format of the passes, whatever copy of it is kept.
Bytes BlockWriter::saved_input(const std::vector<SavedTensor>& saves, const Amounts& amounts,
                               std::int64_t times) const {
  const bool kept = std::any_of(saves.begin(), saves.end(), [](SavedTensor tensor) {
    return tensor == SavedTensor::kInput || tensor == SavedTensor::kInputFp32 ||
           tensor == SavedTensor::kInputCopy || tensor == SavedTensor::kInputFp8;
  });
  return kept ? Bytes(saved_bytes(SavedTensor::kInput, amounts) * static_cast<double>(times)) : Bytes(0);
}

double BlockWriter::saved_bytes(SavedTensor tensor, const Amounts& amounts) const {
  const double element = in_adapter_ && shape_.adapters.fp32 ? 4 : bytes_of(shape_.precision);
  switch (tensor) {
    case SavedTensor::kInput:
      return input_kept_ ? 0 : element * amounts.inputs;
    case SavedTensor::kOutput:
      return element * amounts.outputs;
    case SavedTensor::kInputFp32:
      return 4 * amounts.inputs;
    case SavedTensor::kOutputFp32:
      return 4 * amounts.outputs;
    case SavedTensor::kInputCopy:
      return bytes_of(shape_.low.formats.weight) * amounts.inputs;
    case SavedTensor::kInputFp8:
      return input_kept_ ? 0 : bytes_of(Dtype::kFp8) * amounts.inputs;
    case SavedTensor::kMask:
      return amounts.inputs;
    case SavedTensor::kStats:
      return amounts.stats;
  }
  return 0;
}

void BlockWriter::add_context(const BlockItem& attention, std::int64_t tokens) {
  const Width kv = block_.attention.is_latent() || shape_.context.repeats_kv ? Width::kQ : Width::kKv;
  const auto elements = [&](Width width) { return static_cast<double>(tokens * widths_[width]); };
  add_context_attention(attention,
                        {.q = elements(Width::kQ),
                         .k = elements(kv),
                         .v = elements(block_.attention.is_latent() ? Width::kAttended : kv),
                         .out = elements(Width::kAttended)},
                        shape_.context, items_);
}

// A partial rotation is put beside the rest of each head again: one more copy of both, joined piece by
// piece unless the rotation is one kernel.
void BlockWriter::add_rejoin(const PartOperator& rope, std::int64_t tokens) {
  BlockItem copy;
  const Impl impl = rope.impl == Impl::kFused ? Impl::kAten : Impl::kEager;
  copy.op = pointwise(OperatorKind::kCopy, {.tokens = tokens, .width = widths_[rope.in]},
                      {.impl = impl, .dtype = shape_.precision, .launches = 2});
  copy.launches = {2, 2, 0};
  items_.push_back(copy);
}

}  // namespace foretrain
