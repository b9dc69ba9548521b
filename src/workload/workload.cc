#include "workload/workload.h"

#include <algorithm>
#include <array>
#include <utility>

#include "operators/pointwise.h"
#include "operators/product.h"
#include "operators/quantise.h"
#include "workload/block.h"
#include "workload/graphs.h"
#include "workload/host_work.h"
#include "workload/parameter_share.h"
#include "workload/sharded_units.h"
#include "workload/task_writer.h"
#include "workload/widths.h"

namespace foretrain {
namespace {

// Vocabulary-parallel cross-entropy reduces the row maximum, the target's logit and the sum of exponentials:
// three fp32 numbers a token (Shoeybi et al. 2019, section 3).
void add_loss_exchange(const PassShape& shape, std::int64_t pieces, std::vector<Task>& tasks) {
  if (shape.tp == 1) return;
  for (int i = 0; i < 3; ++i) {
    Task task;
    task.kind = Task::Kind::kCollective;
    task.collective = {CollectiveKind::kAllReduce, GroupKind::kTensor,
                       Bytes(4.0 * static_cast<double>((shape.tokens() + pieces - 1) / pieces))};
    task.times = pieces;
    tasks.push_back(task);
  }
}

// A loss that is scaled after its gradients were made scales them, those of the head's input and weights: the mean
// over micro-batches does so.
void scale_early_gradients(const std::vector<BlockItem>& items, const PassShape& shape,
                           std::vector<Task>& tasks) {
  if (shape.loss.kind != LossKind::kFused || !shape.accumulates) return;
  for (const BlockItem& item : items) {
    if (!item.early || !item.has_weights()) continue;
    const auto [m, k, n] = item.product();
    for (const double rows : {m * static_cast<double>(item.pieces), n}) {
      if (rows == n && item.launches[2] == 0) continue;  // frozen
      Task task;
      task.direction = Direction::kBackward;
      task.op = pointwise(OperatorKind::kCopy,
                          {.tokens = static_cast<std::int64_t>(rows), .width = static_cast<std::int64_t>(k)},
                          {.impl = Impl::kAten, .dtype = shape.precision});
      tasks.push_back(task);
    }
  }
}

// A product that is fed a shard gathered for it keeps the shard; several products with one input keep it
// once.
Bytes held_for_weight(const std::vector<BlockItem>& items, const PassShape& shape) {
  double sum = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const BlockItem& item = items[i];
    if (!item.has_weights() || !item.has_backward || item.launches[2] == 0 || item.early) continue;
    const auto [m, k, n] = item.product();
    const bool gathered = entered_through(items, i) != nullptr && shape.sp_gather_again;
    const double input =
        m * k * static_cast<double>(item.pieces) / (gathered ? static_cast<double>(shape.tp) : 1.0);
    sum += bytes_of(item.narrow ? item.weight_dtype : item.op.dtype) *
           (input + m * n * static_cast<double>(item.times));
  }
  return Bytes(sum);
}

// What selective recomputation does not keep: all of it is there again while a layer's backward runs.
Bytes dropped_by_selective(const std::vector<BlockItem>& items) {
  Bytes sum;
  for (const BlockItem& item : items) sum += std::max(Bytes(0), item.saved - item.selective_saved);
  return sum;
}

Bytes saved_by(const std::vector<BlockItem>& items) {
  Bytes sum;
  for (const BlockItem& item : items) sum += item.saved;
  return sum;
}

// How many of a block's items full recomputation runs again. A product keeps its input before it runs, any
// other operator what it has made.
std::size_t recomputed_items(const std::vector<BlockItem>& items, const Stack& stack) {
  std::size_t end = items.size();
  if (!stack.recompute.stops_early) return end;
  while (end > 0 && items[end - 1].saved == Bytes(0) && !items[end - 1].tiled) --end;
  if (end == 0) return 0;
  const BlockItem& last = items[end - 1];
  return last.has_weights() && !last.tiled ? end - 1 : end;
}

// Under recomputation a forward keeps less than its items say: put what it keeps on the first task.
void set_saved(std::vector<Task>& tasks, Bytes kept) {
  for (Task& task : tasks) task.saved = Bytes(0);
  if (!tasks.empty()) tasks.front().saved = kept;
}

// The passes of one chunk while they are put together.
class ChunkWriter {
 public:
  ChunkWriter(const Model& model, const Stack& stack, const PassShape& shape, WrittenUnits& written)
      : model_(model), stack_(stack), shape_(shape), written_(written), units_(model, stack, shape, work_) {}

  ChunkWork write(const Chunk& chunk) {
    last_ = chunk.last;
    // Tied ends on one rank are one unit, the embedding's.
    const bool both = chunk.first && chunk.last, joined = both && model_.tied;
    if (chunk.first)
      put(written({.part = Part::kEmbedding, .both = both, .last = chunk.last},
                  [&] {
                    return end(embedding_items(model_, stack_, shape_), false,
                               end_weights({0, true, joined}, both));
                  }),
          1);
    blocks(chunk, both);
    if (chunk.last) add_head(both, joined);
    while (!backwards_.empty()) {
      if (!backwards_.back().tasks.empty()) work_.backward.repeats.push_back(std::move(backwards_.back()));
      backwards_.pop_back();
    }
    if (shape_.low.formats.scaling == Scaling::kDelayed)
      for (Pass* pass : {&work_.forward, &work_.backward})
        pass->repeats.push_back(amax_reduction(chunk, pass == &work_.backward));
    if (shape_.sp)
      work_.shared_buffers = activation() * static_cast<double>(stack_.tensor_parallel.sp_buffers);
    if (shape_.graphs.step) {
      capture(work_.forward);
      capture(work_.backward);
    } else {
      add_host_work(stack_, chunk, work_);
    }
    return std::move(work_);
  }

 private:
  // Delayed scaling: what casts recorded is put together, reduced over tensor ranks and made to scales, by a few kernels
  // at the end of every pass (Transformer Engine's reduce_and_update_fp8_tensors; over tensor ranks alone as NeMo's
  // tp_only_amax_red, assumed). Of each product three tensors, four products a layer.
  Repeat amax_reduction(const Chunk& chunk, bool backward) const {
    constexpr std::int64_t kTensors = 12, kKernels = 3;
    const Direction direction = backward ? Direction::kBackward : Direction::kForward;
    std::int64_t narrow = chunk.all_layers();
    for (const std::int32_t plain : chunk.plain) narrow -= plain;
    const std::int64_t numbers = kTensors * std::max<std::int64_t>(1, narrow);
    Repeat repeat;
    if (shape_.tp > 1) {
      Task reduce;
      reduce.kind = Task::Kind::kCollective;
      reduce.collective = {CollectiveKind::kAllReduce, GroupKind::kTensor,
                           Bytes(4.0 * static_cast<double>(numbers))};
      reduce.direction = direction;
      repeat.tasks.push_back(reduce);
    }
    Task update;
    update.op = amax({.tokens = 1, .width = numbers},
                     {.impl = stack_.low_precision.impl, .dtype = shape_.precision, .launches = kKernels});
    update.direction = direction;
    repeat.tasks.push_back(update);
    return repeat;
  }

  Bytes activation() const {
    return Bytes(static_cast<double>(shape_.tokens() * model_.hidden) * bytes_of(shape_.precision));
  }

  enum class Part : unsigned char { kEmbedding, kLayer, kHead, kPrediction };
  // What tells the units of one shape apart.
  struct UnitKey {
    Part part = Part::kLayer;
    bool both = false;  // the chunk has both ends: tied ones are one unit
    bool last = false;  // of the embedding: the head is here too
    std::size_t kind = 0;
    bool full = false;   // run again
    bool plain = false;  // no product in fewer bits

    std::uint32_t packed() const {
      return static_cast<std::uint32_t>(part) | (both ? 8u : 0u) | (last ? 16u : 0u) | (full ? 32u : 0u) |
             (plain ? 64u : 0u) | static_cast<std::uint32_t>(kind) << 8;
    }
  };
  template <class Write>
  const WrittenUnit& written(const UnitKey& key, const Write& write) {
    const auto found = written_.find(key.packed());
    if (found != written_.end()) return found->second;
    return written_.emplace(key.packed(), write()).first->second;
  }

  // So many of it.
  void put(const WrittenUnit& unit, std::int64_t count) {
    work_.held_for_weight += unit.held_for_weight * static_cast<double>(count);
    work_.offloaded += unit.offloaded * static_cast<double>(count);
    work_.gathered += unit.gathered;
    work_.unit_gradients = std::max(work_.unit_gradients, unit.unit_gradients);
    work_.forward.repeats.push_back(unit.forward);
    work_.forward.repeats.back().count = count;
    backwards_.push_back(unit.backward);
    backwards_.back().count = count;
  }

  WrittenUnit end(const std::vector<BlockItem>& items, bool is_head, const UnitWeights& weights) const {
    TaskWriter forward(model_, stack_, shape_);
    forward.forward(items, 0, items.size(), false);
    if (is_head) forward.early_backward(items);
    Repeat f{1, false, forward.take(), {}, {}, {}};
    if (is_head) add_loss_exchange(shape_, items.empty() ? 1 : items.back().pieces, f.tasks.edit());
    TaskWriter backward(model_, stack_, shape_);
    // Nothing below a frozen embedding is trained.
    const bool frozen = shape_.adapters.frozen();
    if (is_head || !frozen) backward.backward(items, false);
    if (!is_head && last_ && model_.tied && !frozen)
      backward.add_tied_gradients(model_.hidden, padded_vocab(model_, stack_, shape_.tp) / shape_.tp);
    Repeat b{1, false, {}, {}, {}, {}};
    if (is_head) scale_early_gradients(items, shape_, b.tasks.edit());
    for (Task& task : backward.take()) b.tasks.push_back(std::move(task));
    WrittenUnit unit = sharded(std::move(f), std::move(b), weights, false);
    unit.held_for_weight = held_for_weight(items, shape_);
    return unit;
  }

  // Of a chunk without layers, what is not of multi-token prediction's layers.
  UnitWeights end_weights(const Chunk& ends, bool both) const {
    UnitWeights weights = units_.weights(ends, both);
    if (!ends.last || mtp_layers_of(model_, stack_) == 0) return weights;
    const std::size_t last = BlockKinds(model_).of(model_.blocks.back().block);
    weights.take_away(units_.weights(Chunk::of_kind(last, 1), both), mtp_layers_of(model_, stack_));
    return weights;
  }

  void add_head(bool both, bool joined) {
    put(written({.part = Part::kHead, .both = both},
                [&] {
                  return end(head_items(model_, stack_, shape_), true,
                             joined ? UnitWeights{} : end_weights({0, false, true}, both));
                }),
        1);
    for (std::int64_t i = 0; i < mtp_layers_of(model_, stack_); ++i)
      put(written({.part = Part::kPrediction},
                  [&] { return end(mtp_items(model_, stack_, shape_), true, {}); }),
          1);
  }

  void blocks(const Chunk& chunk, bool both) {
    const BlockKinds kinds(model_);
    const std::int64_t all = chunk.all_layers() + (chunk.last ? mtp_layers_of(model_, stack_) : 0);
    const std::int64_t some = shape_.recompute_layers;
    const bool full = shape_.recompute == Recompute::kFull;
    std::array<std::int64_t, kMaxBlockKinds> again{};
    std::array<std::array<UnitWeights, 2>, kMaxBlockKinds> weights{};  // of a layer, and of a plain one
    UnitWeights largest;
    plain_ = chunk.plain;
    if (shape_.low.leaves_layers()) {
      plain_shape_ = shape_;
      plain_shape_.low.formats = half_formats(shape_.precision);
    }
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const std::int64_t count = layers_of(model_, stack_, chunk, k), own = chunk.layers[k];
      if (full) again[k] = some == 0 ? count : kinds.size() == 1 ? std::min(some, own) : chunk.again[k];
      for (const bool plain : {false, true}) {
        const std::int64_t rows = plain ? chunk.plain[k] : count - chunk.plain[k];
        if (rows == 0) continue;
        UnitWeights& each = weights[k][plain ? 1 : 0];
        each = units_.weights(Chunk::of_kind(k, 1, plain), both);
        units_.keep_blocks(each, rows);
        if (units_.gathered(largest) < units_.gathered(each)) largest = each;
      }
    }
    // What is run again stands first in the chunk, so last in its backward.
    for (std::size_t k = 0; k < kinds.size(); ++k)
      if (again[k] > 0) layers(kinds, k, again[k], true, both, weights[k]);
    for (std::size_t k = 0; k < kinds.size(); ++k)
      if (const std::int64_t count = layers_of(model_, stack_, chunk, k); count > again[k])
        layers(kinds, k, count - again[k], false, both, weights[k]);
    units_.hold_blocks(largest, all);
  }

  // Of a row of equal layers, those that stay in the format of the passes, then the others.
  void layers(const BlockKinds& kinds, std::size_t kind, std::int64_t count, bool full, bool both,
              const std::array<UnitWeights, 2>& weights) {
    const std::int32_t plain = std::min(static_cast<std::int32_t>(count), plain_[kind]);
    plain_[kind] -= plain;
    const auto put_row = [&](std::int64_t layers, const PassShape& shape, bool is_plain) {
      const WrittenUnit& unit = written({.both = both, .kind = kind, .full = full, .plain = is_plain}, [&] {
        return layer(kinds[kind], full, weights[is_plain ? 1 : 0], shape);
      });
      if (shape_.offload) at_work(kind, unit.offloaded, layers);
      put(unit, layers);
    };
    if (plain > 0) put_row(plain, plain_shape_, true);
    if (count > plain) put_row(count - plain, shape_, false);
  }

  // Run again in the backward (`full`) or not.
  WrittenUnit layer(const Block& block, bool full, const UnitWeights& weights, const PassShape& shape) const {
    const std::vector<BlockItem> items = block_items(model_, stack_, shape, block);
    const bool selective = shape_.recompute == Recompute::kSelective;
    TaskWriter forward(model_, stack_, shape_);
    forward.forward(items, 0, items.size(), false);
    Repeat f{1, true, forward.take(), {}, {}, {}};
    const auto [forward_calls, backward_calls] = layer_calls(block, items);
    add_calls(f.tasks.edit(), forward_calls, false);
    spread_syncs(f.tasks.edit(), stack_.host.syncs_per_layer, false);
    add_graph_inputs(f.tasks.edit(), shape_, model_.hidden);
    const bool divided = shape_.sp || shape_.partition_activations;
    if (full) set_saved(f.tasks.edit(), activation() / (divided ? static_cast<double>(shape_.tp) : 1.0));
    Bytes offloaded;
    if (shape_.offload) {
      offloaded = saved_bytes(f);
      set_saved(f.tasks.edit(), Bytes(0));
    }

    TaskWriter backward(model_, stack_, shape_);
    if (full) {
      if (shape_.partition_activations) backward.gather_checkpoint();
      backward.forward(items, 0, recomputed_items(items, stack_), true);
    }
    backward.backward(items, selective);
    Repeat b{1, true, backward.take(), {}, {}, {}};
    add_calls(b.tasks.edit(), backward_calls, false);
    if (full) {
      add_calls(b.tasks.edit(), forward_calls + stack_.host.calls_per_recompute, true);
      spread_syncs(b.tasks.edit(), stack_.host.syncs_per_layer, true);
    }
    spread_syncs(b.tasks.edit(), stack_.host.syncs_per_layer, false);
    add_graph_inputs(b.tasks.edit(), shape_, model_.hidden);
    if (full) b.recomputes = saved_by(items);
    if (selective) b.recomputes = dropped_by_selective(items);
    WrittenUnit unit = sharded(std::move(f), std::move(b), weights, true);
    unit.held_for_weight = held_for_weight(items, shape_);
    unit.offloaded = offloaded;
    return unit;
  }

  // Forward and backward.
  std::array<std::int64_t, 2> layer_calls(const Block& block, const std::vector<BlockItem>& items) const {
    const Stack::Host& host = stack_.host;
    std::array<std::int64_t, 2> calls = host.calls_per_layer;
    std::int64_t adapters = 0;
    for (const BlockItem& item : items) adapters += item.adapters;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      calls[i] += shape_.calls_beside_messages + adapters * stack_.adapters.calls[i];
      if (block.feed_forward.has_experts()) calls[i] += host.calls_of_experts[i];
      if (shape_.expert_products == ExpertProducts::kLoop)
        calls[i] += host.calls_per_expert[i] * block.feed_forward.experts;
      if (block.attention.is_latent()) calls[i] += host.calls_of_latent[i];
    }
    return calls;
  }

  // What is here of the layers that are offloaded, one at work and one on its way: two of a row, or one each of
  // two kinds.
  void at_work(std::size_t kind, Bytes layer, std::int64_t count) {
    work_.offload_window =
        std::max(work_.offload_window, layer * static_cast<double>(std::min<std::int64_t>(count, 2)));
    for (std::size_t k = 0; k < here_.size(); ++k)
      if (k != kind && here_[k] > Bytes(0))
        work_.offload_window = std::max(work_.offload_window, layer + here_[k]);
    here_[kind] = std::max(here_[kind], layer);
  }

  // With gathers and scatters around it, where ZeRO has them, and what its backward lets go and leaves.
  WrittenUnit sharded(Repeat forward, Repeat backward, const UnitWeights& weights, bool is_block) const {
    ChunkWork alone;
    UnitWriter(model_, stack_, shape_, alone).unit(forward, backward, weights, is_block);
    backward.releases = saved_bytes(forward);
    if (stack_.gradients.autograd_copies && !shape_.units.scatters)
      backward.leaves = Bytes(static_cast<double>(weights.trained()) * bytes_of(shape_.precision));
    if (stack_.states.lazy_gradients && !shape_.accumulates && !shape_.units.scatters)
      backward.gradients = Bytes(static_cast<double>(weights.trained()) * bytes_of(shape_.grad_dtype));
    return {std::move(forward), std::move(backward), {}, {}, alone.gathered, alone.unit_gradients};
  }

  const Model& model_;
  const Stack& stack_;
  const PassShape& shape_;
  WrittenUnits& written_;
  ChunkWork work_;
  UnitWriter units_;
  std::vector<Repeat> backwards_;             // in the model's order
  std::array<Bytes, kMaxBlockKinds> here_{};  // of each kind the largest layer that is offloaded
  bool last_ = false;
  PassShape plain_shape_{};                           // of layers without products in fewer bits
  std::array<std::int32_t, kMaxBlockKinds> plain_{};  // how many of each kind
};

}  // namespace

PassShape units_shape(const PassShape& shape) {
  PassShape units = shape;
  units.recompute_layers = 0;  // how many layers are run again is a count, and whether one is tells it apart
  if (shape.recompute == Recompute::kFull) units.recompute = Recompute::kNone;
  return units;
}

ChunkWork build_chunk(const Model& model, const Stack& stack, const PassShape& shape, const Chunk& chunk,
                      WrittenUnits& units) {
  return ChunkWriter(model, stack, shape, units).write(chunk);
}

ChunkWork build_chunk(const Model& model, const Stack& stack, const PassShape& shape, const Chunk& chunk) {
  WrittenUnits units;
  return build_chunk(model, stack, shape, chunk, units);
}

}  // namespace foretrain
