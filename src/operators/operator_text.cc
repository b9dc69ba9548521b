#include "operators/operator_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "spec/choice.h"

namespace foretrain {
namespace {

constexpr std::int64_t kMaxSize = 1'000'000'000'000'000;
constexpr std::int64_t kMaxExperts = 100'000;  // of one GPU; a loop launches a kernel for each

// The bytes of gradient, weight, moment and master copy.
void set_state_bytes(Operator& op, bool all_bf16) {
  constexpr std::int64_t mixed[] = {4, 2, 4, 4}, narrow[] = {2, 2, 2, 0};
  std::copy_n(all_bf16 ? narrow : mixed, 4, op.sizes.begin() + 2);
  if (op.kind == OperatorKind::kCastGrads) op.sizes[2] = 2;  // kept in half precision, or nothing is cast
}

constexpr std::string_view kGeluTanh = "gelu_tanh";

Result<OperatorKind> parse_kind(std::string_view word, const Position& at) {
  if (word == kGeluTanh) return OperatorKind::kGelu;
  return parse_choice<OperatorKind>(word, kOperatorKindNames, at);
}

Result<void> parse_impl(Operator& op, std::string_view word, const Position& at) {
  if (op.kind == OperatorKind::kCrossEntropy && word == "fp32") {
    op.impl = Impl::kEager;
    return {};
  }
  TRY_ASSIGN(op.impl, parse_choice<Impl>(word, kImplNames, at));
  if (!has_impl(op.kind, op.impl))
    return fail(fmt::format("{} has no implementation {}", name(op.kind), name(op.impl)), at);
  const bool all_bf16 = op.impl == Impl::kFusedBf16;
  if (is_optimizer(op.kind)) set_state_bytes(op, all_bf16);
  if (all_bf16) op.impl = Impl::kFused;  // an operator says it by the bytes of its states; see impl_of()
  return {};
}

Result<void> parse_pass(Operator& op, std::string_view word, const Position& at) {
  TRY_ASSIGN(op.pass, parse_choice<PassKind>(word, kPassNames, at));
  const bool step = op.pass == PassKind::kStep;
  const bool apart = op.pass == PassKind::kInput || op.pass == PassKind::kWeight;
  const bool weighted = op.kind == OperatorKind::kLinear || op.kind == OperatorKind::kGroupedProduct ||
                        op.kind == OperatorKind::kAccumulate;
  const bool only_backward = op.impl == Impl::kZeroGrad && op.pass == PassKind::kForward;
  if (step != is_optimizer(op.kind) || (apart && !weighted) || only_backward)
    return fail(fmt::format("{} has no pass {}", name(op.kind), name(op.pass)), at);
  return {};
}

// What may be left out: attention is causal, and has as many heads of keys as of queries.
void set_defaults(Operator& op, std::array<bool, 6>& given) {
  if (op.kind != OperatorKind::kAttention) return;
  if (!given[2]) op.sizes[2] = op.sizes[1];
  if (!given[5]) op.sizes[5] = 1;
  given[2] = given[5] = true;
}

Result<void> check_sizes(const Operator& op, const Position& at) {
  if (op.kind == OperatorKind::kAttention && op.sizes[1] % op.sizes[2] != 0)
    return fail(fmt::format("found heads={} kv_heads={}, expected kv_heads to divide heads", op.sizes[1],
                            op.sizes[2]),
                at);
  if (op.kind == OperatorKind::kRoute && op.sizes[2] > op.sizes[1])
    return fail(fmt::format("found experts={} top_k={}, expected top_k to be at most experts", op.sizes[1],
                            op.sizes[2]),
                at);
  if (op.kind == OperatorKind::kGroupedProduct && op.sizes[0] > kMaxExperts)
    return fail(fmt::format("found experts={}, expected at most {}", op.sizes[0], kMaxExperts), at);
  return {};
}

Position moved(const Position& at, std::string_view whole, std::string_view part) {
  if (at.column == 0) return at;
  return {at.file, at.line, at.column + static_cast<int>(part.data() - whole.data())};
}

Result<void> read_size(Operator& op, std::string_view item, std::array<bool, 6>& given, const Position& at) {
  const auto names = size_names(op.kind);
  const std::size_t equals = item.find('=');
  if (equals == std::string_view::npos)
    return fail("found " + quoted(item) + ", expected sizes such as " + std::string(names[0]) + "=4096", at);
  const std::string_view word = item.substr(0, equals), value = item.substr(equals + 1);
  const auto found = std::find(names.begin(), names.end(), word);
  if (found == names.end()) {
    const std::vector<std::string> known(names.begin(), names.end());
    return fail(fmt::format("{} has no size {}{}", name(op.kind), quoted(word), suggestion(word, known)), at);
  }
  const auto i = static_cast<std::size_t>(found - names.begin());
  if (given[i]) return fail("found " + quoted(word) + " twice, expected each size once", at);
  const bool flag = word == "causal";
  const auto number = parse_integer(value);
  if (!number || *number < (flag ? 0 : 1) || *number > (flag ? 1 : kMaxSize))
    return fail(fmt::format("found {}={}, expected {}", word, printable(value),
                            flag ? "0 or 1" : "a whole number from 1 to 10^15"),
                at);
  op.sizes[i] = *number;
  given[i] = true;
  return {};
}

}  // namespace

std::span<const std::string_view> size_names(OperatorKind kind) {
  static constexpr std::string_view product[] = {"m", "k", "n"};
  static constexpr std::string_view batched[] = {"batch", "m", "k", "n"};
  static constexpr std::string_view attention[] = {"batch", "heads", "kv_heads", "seq", "head_dim", "causal"};
  static constexpr std::string_view rows[] = {"rows", "columns"};
  static constexpr std::string_view table[] = {"tokens", "width", "vocab"};
  static constexpr std::string_view logits[] = {"tokens", "vocab"};
  static constexpr std::string_view grouped[] = {"experts", "m", "k", "n"};
  static constexpr std::string_view sent[] = {"tokens", "width", "top_k"};
  static constexpr std::string_view routed[] = {"tokens", "experts", "top_k"};
  static constexpr std::string_view gradient[] = {"k", "n", "grad_bytes"};
  static constexpr std::string_view states[] = {"parameters", "tensors"};
  static constexpr std::string_view pointwise[] = {"tokens", "width"};
  if (is_optimizer(kind)) return states;
  switch (kind) {
    case OperatorKind::kLinear:
      return product;
    case OperatorKind::kBatchedProduct:
      return batched;
    case OperatorKind::kAttention:
      return attention;
    case OperatorKind::kSoftmax:
      return rows;
    case OperatorKind::kEmbedding:
      return table;
    case OperatorKind::kCrossEntropy:
      return logits;
    case OperatorKind::kGroupedProduct:
      return grouped;
    case OperatorKind::kPermute:
    case OperatorKind::kUnpermute:
      return sent;
    case OperatorKind::kRoute:
      return routed;
    case OperatorKind::kAccumulate:
      return gradient;
    default:
      return pointwise;
  }
}

std::string sizes_text(const Operator& op) {
  std::string text;
  const auto names = size_names(op.kind);
  for (std::size_t i = 0; i < names.size(); ++i)
    text += fmt::format("{}{}={}", i == 0 ? "" : " ", names[i], op.sizes[i]);
  return text;
}

std::string_view impl_text(const Operator& op) { return name(impl_of(op)); }

Result<void> read_sizes(Operator& op, std::string_view text, const Position& at) {
  std::array<bool, 6> given{};
  for (const std::string_view item : split(text, ' ')) {
    if (item.empty()) continue;
    TRY(read_size(op, item, given, moved(at, text, item)));
  }
  set_defaults(op, given);
  const auto names = size_names(op.kind);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!given[i])
      return fail(fmt::format("{} lacks its size {}: found {}", name(op.kind), names[i], quoted(text)), at);
  return check_sizes(op, at);
}

Result<Operator> parse_operator(std::string_view kind, std::string_view impl, std::string_view pass,
                                std::string_view dtype, std::string_view sizes, const OperatorPositions& at) {
  Operator op;
  TRY_ASSIGN(op.kind, parse_kind(kind, at.kind));
  TRY(parse_impl(op, impl, at.impl));
  // Its chain of kernels is another function, `gelu eager` (Hugging Face's gelu_new): run eagerly it is one.
  if (kind == kGeluTanh && (op.impl == Impl::kAten || op.impl == Impl::kEager)) op.impl = Impl::kTanh;
  TRY(parse_pass(op, pass, at.pass));
  TRY_ASSIGN(op.dtype, parse_choice<Dtype>(dtype, kDtypeNames, at.dtype));
  TRY(read_sizes(op, sizes, at.sizes));
  op.launches = usual_launches(op);
  return op;
}

}  // namespace foretrain
