#include "spec/stack_text.h"

#include <fmt/format.h>

#include "spec/fields.h"

namespace foretrain {

namespace {

constexpr std::int64_t kMaxLaunches = 10'000;
constexpr std::int64_t kMaxTimes = 1'000;
constexpr double kMaxExtra = 1'000;
constexpr std::int64_t kMaxCopies = 16;
constexpr std::size_t kMaxOperators = 64;  // a part; each is laid out layer by layer

// What a launch list may hold: [forward, backward] or [forward, backward, weights]; [step] in the optimizer.
enum class Where { kBlock, kOptimizer };

Result<std::array<std::int64_t, 3>> parse_launches(const Node& node, Where where) {
  const std::size_t fewest = where == Where::kOptimizer ? 1 : 2;
  const std::size_t most = where == Where::kOptimizer ? 1 : 3;
  if (!node.is_list() || node.items.size() < fewest || node.items.size() > most)
    return fail(where == Where::kOptimizer ? "launches: expected a list of one count, [step]"
                                           : "launches: expected a list of two or three counts, "
                                             "[forward, backward, weights]",
                node.at);
  std::array<std::int64_t, 3> launches = {0, 0, 0};
  for (std::size_t i = 0; i < node.items.size(); ++i)
    if (auto read = read_value(node.items[i], launches[i], 0, kMaxLaunches); !read)
      return named("launches", std::move(read).error());
  return launches;
}

Result<void> read_widths(const Node& node, PartOperator& op) {
  const bool product = op.kind == OperatorKind::kLinear || op.kind == OperatorKind::kBatchedProduct ||
                       op.kind == OperatorKind::kAttention;
  if (product) {
    if (const Node* width = node.find("width"))
      return fail(fmt::format("{} takes 'in' and 'out', not 'width'", name(op.kind)), width->at);
    TRY(read_required(node, "in", op.in, kWidthNames));
    return read_required(node, "out", op.out, kWidthNames);
  }
  for (const std::string_view key : {"in", "out"})
    if (const Node* field = node.find(key))
      return fail(fmt::format("'{}' belongs to a product; {} takes 'width'", key, name(op.kind)), field->at);
  TRY(read_optional(node, "width", op.in, kWidthNames));
  op.out = op.in;
  return {};
}

Result<std::vector<SavedTensor>> parse_saves(const Node& list, std::string_view key) {
  if (!list.is_list()) return fail(fmt::format("{}: expected a list", key), list.at);
  std::vector<SavedTensor> saves;
  for (const Node& item : list.items) {
    SavedTensor saved{};
    if (auto read = read_value(item, saved, kSavedTensorNames); !read)
      return named(key, std::move(read).error());
    saves.push_back(saved);
  }
  return saves;
}

Result<void> read_saves(const Node& node, PartOperator& op) {
  if (const Node* saves = node.find("saves")) {
    TRY_ASSIGN(op.saves, parse_saves(*saves, "saves"));
  }
  if (const Node* saves = node.find("selective_saves")) {
    TRY_ASSIGN(op.selective_saves, parse_saves(*saves, "selective_saves"));
  }
  return {};
}

Result<void> read_extra(const Node& node, PartOperator& op) {
  const Node* extra = node.find("extra");
  if (extra == nullptr) return {};
  if (!extra->is_list() || extra->items.size() != 2)
    return fail("extra: expected a list of two numbers, bytes an element [forward, backward]", extra->at);
  op.extra.emplace();
  for (std::size_t i = 0; i < 2; ++i)
    if (auto read = read_value(extra->items[i], (*op.extra)[i], 0.0, kMaxExtra); !read)
      return named("extra", std::move(read).error());
  return {};
}

// Each kind has its place and its implementations; what only samples can be, or the states decide, is not
// listed.
Result<void> check_place(const Node& node, const PartOperator& op, Where where) {
  const Position& at = node.find("op")->at;
  const bool of_optimizer = is_optimizer(op.kind);
  if (of_optimizer != (where == Where::kOptimizer))
    return fail(
        fmt::format("{} does not belong {} the optimizer", name(op.kind), of_optimizer ? "outside" : "in"),
        at);
  if (is_of_experts(op.kind))
    return fail(fmt::format("{} is not listed: no block has experts yet", name(op.kind)), at);
  if (op.kind == OperatorKind::kAccumulate)
    return fail("accumulate is not listed: 'gradients: fused_accumulation' decides on it", at);
  const bool listed = op.impl != Impl::kZeroGrad && op.impl != Impl::kFusedBf16;
  if (!listed || !has_impl(op.kind, op.impl))
    return fail(fmt::format("{} has no implementation {}", name(op.kind), name(op.impl)), at);
  return {};
}

Result<void> check_gradient_dtype(std::string_view key, Dtype dtype, const Position& at) {
  if (is_half(dtype) || dtype == Dtype::kFp32) return {};
  return fail(fmt::format("{}: found {}, expected fp32, fp16 or bf16", key, name(dtype)), at);
}

Result<PartOperator> parse_operator(const Node& node, Where where) {
  PartOperator op;
  if (where == Where::kOptimizer) {
    TRY(only_fields(node, "an operator of the optimizer", {"op", "impl", "times", "launches"}));
    op.launches = {1, 0, 0};
  } else {
    TRY(only_fields(node, "an operator",
                    {"op", "impl", "width", "in", "out", "when", "times", "launches", "saves", "extra",
                     "selective", "selective_saves", "masked"}));
  }
  TRY(read_required(node, "op", op.kind, kOperatorKindNames));
  TRY(read_optional(node, "impl", op.impl, kImplNames));
  TRY(check_place(node, op, where));
  TRY(read_widths(node, op));
  TRY(read_optional(node, "when", op.when, kConditionNames));
  TRY(read_optional(node, "times", op.times, 1, kMaxTimes));
  if (const Node* launches = node.find("launches")) {
    TRY_ASSIGN(op.launches, parse_launches(*launches, where));
  }
  TRY(read_saves(node, op));
  TRY(read_extra(node, op));
  TRY(read_optional(node, "selective", op.selective));
  TRY(read_optional(node, "masked", op.masked));
  if (op.masked && op.kind != OperatorKind::kAttention)
    return fail("masked: belongs to attention", node.find("masked")->at);
  return op;
}

Result<void> read_part(const Node& parts, std::string_view key, Part& out, Where where = Where::kBlock) {
  const Node* list = parts.find(key);
  if (list == nullptr) return {};
  if (!list->is_list() || list->items.empty())
    return fail(fmt::format("{}: expected a list of operators", key), list->at);
  if (list->items.size() > kMaxOperators)
    return fail(
        fmt::format("{}: found {} operators, expected at most {}", key, list->items.size(), kMaxOperators),
        list->at);
  for (const Node& item : list->items) {
    TRY_ASSIGN(PartOperator op, parse_operator(item, where));
    out.push_back(std::move(op));
  }
  return {};
}

Result<void> read_required_part(const Node& parts, std::string_view key, Part& out,
                                Where where = Where::kBlock) {
  if (parts.find(key) == nullptr) return missing(parts, key);
  return read_part(parts, key, out, where);
}

// A part that comes in variants; a stack may lack those that its framework cannot train.
Result<void> read_variants(const Node& parts, std::string_view key,
                           std::initializer_list<std::string_view> names, std::span<Part> out) {
  TRY_ASSIGN(const Node* variants, optional_section(parts, key, names));
  for (std::size_t i = 0; i < names.size(); ++i) TRY(read_part(*variants, names.begin()[i], out[i]));
  return {};
}

Result<void> read_parts(const Node& node, Stack& stack) {
  TRY_ASSIGN(const Node* parts,
             required_section(node, "parts",
                              {"embedding", "norm", "qkv", "rope", "attention", "projection", "mlp",
                               "residual", "head", "loss", "optimizer"}));
  TRY(read_required_part(*parts, "embedding", stack.parts.embedding));
  TRY(read_variants(*parts, "norm", {kNormNames[0], kNormNames[1]}, stack.parts.norm));
  TRY(read_required_part(*parts, "qkv", stack.parts.qkv));
  TRY(read_part(*parts, "rope", stack.parts.rope));
  TRY(read_variants(*parts, "attention", {kAttentionNames[0], kAttentionNames[1]}, stack.parts.attention));
  TRY(read_required_part(*parts, "projection", stack.parts.projection));
  TRY(read_variants(*parts, "mlp", {kMlpNames[0], kMlpNames[1], kMlpNames[2], kMlpNames[3]},
                    stack.parts.mlp));
  TRY(read_variants(*parts, "residual", {kResidualNames[0], kResidualNames[1]}, stack.parts.residual));
  TRY(read_required_part(*parts, "head", stack.parts.head));
  TRY(read_required_part(*parts, "loss", stack.parts.loss));
  return read_required_part(*parts, "optimizer", stack.parts.optimizer, Where::kOptimizer);
}

// `weights: fp32` or, as otherwise, those of the plan's precision.
Result<void> read_stored_weights(const Node& states, Stack& stack) {
  Dtype stored = Dtype::kBf16;
  const Node* node = states.find("weights");
  if (node == nullptr) return {};
  if (auto read = read_value(*node, stored, kDtypeNames); !read)
    return named("weights", std::move(read).error());
  if (stored != Dtype::kFp32)
    return fail(fmt::format("weights: found {}, expected fp32", name(stored)), node->at);
  stack.states.fp32_weights = true;
  return {};
}

Result<void> read_numbers(const Node& node, Stack& stack) {
  TRY(read_optional(node, "default_attention", stack.default_attention, kAttentionNames));
  TRY(read_optional(node, "default_dropout", stack.default_dropout, 0.0, 0.99));
  TRY_ASSIGN(const Node* gradients, optional_section(node, "gradients",
                                                     {"dtype", "reduce_dtype", "fp16_stays",
                                                      "fused_accumulation", "autograd_copies"}));
  TRY(read_optional(*gradients, "dtype", stack.gradients.dtype, kDtypeNames));
  TRY(read_optional(*gradients, "reduce_dtype", stack.gradients.reduce_dtype, kDtypeNames));
  TRY(check_gradient_dtype("dtype", stack.gradients.dtype, gradients->at));
  TRY(check_gradient_dtype("reduce_dtype", stack.gradients.reduce_dtype, gradients->at));
  TRY(read_optional(*gradients, "fp16_stays", stack.gradients.fp16_stays));
  TRY(read_optional(*gradients, "fused_accumulation", stack.gradients.fused_accumulation));
  TRY(read_optional(*gradients, "autograd_copies", stack.gradients.autograd_copies));
  TRY_ASSIGN(const Node* states,
             optional_section(node, "states", {"master_weights", "moments", "lazy_gradients", "weights"}));
  TRY(read_optional(*states, "master_weights", stack.states.master_weights));
  TRY(read_optional(*states, "moments", stack.states.moments, kDtypeNames));
  TRY(read_optional(*states, "lazy_gradients", stack.states.lazy_gradients));
  return read_stored_weights(*states, stack);
}

Result<void> read_tensor_parallel(const Node& node, Stack& stack) {
  TRY_ASSIGN(const Node* section, optional_section(node, "tensor_parallel",
                                                   {"blocking", "parallel_all_reduces", "sp_gather_again",
                                                    "sp_buffers", "vocab_multiple"}));
  TRY(read_optional(*section, "blocking", stack.tensor_parallel.blocking));
  if (const Node* counts = section->find("parallel_all_reduces")) {
    if (!counts->is_list() || counts->items.size() != 2)
      return fail("parallel_all_reduces: expected a list of two counts, [forward, backward]", counts->at);
    for (std::size_t i = 0; i < 2; ++i) {
      auto read = read_value(counts->items[i], stack.tensor_parallel.parallel_all_reduces[i], 1, 2);
      if (!read) return named("parallel_all_reduces", std::move(read).error());
    }
  }
  TRY(read_optional(*section, "sp_gather_again", stack.tensor_parallel.sp_gather_again));
  TRY(read_optional(*section, "sp_buffers", stack.tensor_parallel.sp_buffers, 0, kMaxCopies));
  return read_optional(*section, "vocab_multiple", stack.tensor_parallel.vocab_multiple, 1, 1'000'000);
}

Result<void> read_pipeline_and_data_parallel(const Node& node, Stack& stack) {
  TRY_ASSIGN(
      const Node* pipeline,
      optional_section(node, "pipeline", {"split", "blocking", "serial", "sends_mask", "scatter_gather"}));
  TRY(read_optional(*pipeline, "split", stack.pipeline.split, kStageSplitNames));
  TRY(read_optional(*pipeline, "blocking", stack.pipeline.blocking));
  TRY(read_optional(*pipeline, "serial", stack.pipeline.serial));
  TRY(read_optional(*pipeline, "sends_mask", stack.pipeline.sends_mask));
  TRY(read_optional(*pipeline, "scatter_gather", stack.pipeline.scatter_gather));
  TRY_ASSIGN(const Node* data,
             optional_section(node, "data_parallel",
                              {"overlap", "bucket_elements", "zero_reduce_scatter", "overlap_param_gather",
                               "prefetch", "reshard_after_forward", "zero2_gather", "gradient_copies",
                               "bucket_buffers", "gather_copies", "gathered_units", "reduce_buffers"}));
  TRY(read_optional(*data, "overlap", stack.data_parallel.overlap));
  TRY(read_optional(*data, "bucket_elements", stack.data_parallel.bucket_elements, 0, 1'000'000'000'000));
  TRY(read_optional(*data, "zero_reduce_scatter", stack.data_parallel.zero_reduce_scatter));
  TRY(read_optional(*data, "overlap_param_gather", stack.data_parallel.overlap_param_gather));
  if (const Node* when = data->find("prefetch")) {
    if (!when->is_list() || when->items.size() != 2)
      return fail("prefetch: expected a list of two words, [forward, backward]", when->at);
    for (std::size_t i = 0; i < 2; ++i)
      if (auto read = read_value(when->items[i], stack.data_parallel.prefetch[i], kPrefetchNames); !read)
        return named("prefetch", std::move(read).error());
  }
  TRY(read_optional(*data, "reshard_after_forward", stack.data_parallel.reshard_after_forward));
  TRY(read_optional(*data, "zero2_gather", stack.data_parallel.zero2_gather, kZero2GatherNames));
  TRY(read_optional(*data, "gradient_copies", stack.data_parallel.gradient_copies, 0, kMaxTimes));
  TRY(read_optional(*data, "bucket_buffers", stack.data_parallel.bucket_buffers));
  TRY(read_optional(*data, "gather_copies", stack.data_parallel.gather_copies, 0, 2));
  TRY(read_optional(*data, "gathered_units", stack.data_parallel.gathered_units, 1, kMaxCopies));
  return read_optional(*data, "reduce_buffers", stack.data_parallel.reduce_buffers, 1, kMaxCopies);
}

// A count forward and one backward.
Result<void> read_both_ways(const Node& map, std::string_view key, std::array<std::int64_t, 2>& out) {
  const Node* counts = map.find(key);
  if (counts == nullptr) return {};
  if (!counts->is_list() || counts->items.size() != 2)
    return fail(fmt::format("{}: expected a list of two counts, [forward, backward]", key), counts->at);
  for (std::size_t i = 0; i < 2; ++i)
    if (auto read = read_value(counts->items[i], out[i], 0, kMaxLaunches); !read)
      return named(key, std::move(read).error());
  return {};
}

}  // namespace

Result<Stack> parse_stack(const Node& node) {
  TRY(only_fields(node, "a stack",
                  {"name", "source", "parts", "default_attention", "default_dropout", "gradients", "states",
                   "recompute", "tensor_parallel", "pipeline", "data_parallel", "host", "memory_log"}));
  Stack stack;
  stack.name = "inline";
  TRY(read_optional(node, "name", stack.name));
  TRY(read_optional(node, "source", stack.source));
  TRY(read_parts(node, stack));
  TRY(read_numbers(node, stack));
  TRY_ASSIGN(const Node* recompute, optional_section(node, "recompute", {"stops_early"}));
  TRY(read_optional(*recompute, "stops_early", stack.recompute.stops_early));
  TRY(read_tensor_parallel(node, stack));
  TRY(read_pipeline_and_data_parallel(node, stack));
  TRY_ASSIGN(const Node* log, optional_section(node, "memory_log", {"counter", "stage"}));
  TRY(read_optional(*log, "counter", stack.memory_log.counter, kMemoryCounterNames));
  TRY(read_optional(*log, "stage", stack.memory_log.stage, kLoggedStageNames));
  TRY_ASSIGN(const Node* host,
             optional_section(node, "host",
                              {"syncs_per_layer", "calls_per_layer", "calls_per_recompute",
                               "calls_beside_messages", "calls_per_unit", "calls_per_pass", "sync_after_pass",
                               "calls_per_batch", "copies_per_batch", "calls_per_step"}));
  TRY(read_optional(*host, "syncs_per_layer", stack.host.syncs_per_layer, 0, 1'000));
  TRY(read_both_ways(*host, "calls_per_layer", stack.host.calls_per_layer));
  TRY(read_both_ways(*host, "calls_per_pass", stack.host.calls_per_pass));
  TRY(read_optional(*host, "sync_after_pass", stack.host.sync_after_pass));
  TRY(read_optional(*host, "calls_per_recompute", stack.host.calls_per_recompute, 0, kMaxLaunches));
  TRY(read_optional(*host, "calls_beside_messages", stack.host.calls_beside_messages, 0, kMaxLaunches));
  TRY(read_optional(*host, "calls_per_unit", stack.host.calls_per_unit, 0, kMaxLaunches));
  TRY(read_optional(*host, "calls_per_batch", stack.host.calls_per_batch, 0, kMaxLaunches));
  TRY(read_optional(*host, "copies_per_batch", stack.host.copies_per_batch, 0, kMaxLaunches));
  TRY(read_optional(*host, "calls_per_step", stack.host.calls_per_step, 0, kMaxLaunches));
  return stack;
}

}  // namespace foretrain
