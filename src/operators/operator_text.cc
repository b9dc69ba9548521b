#include "operators/operator_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "operators/description.h"
#include "operators/optimizer.h"
#include "spec/choice.h"

namespace foretrain {
namespace {

constexpr std::size_t kLongest = 60;  // of a value as it stands in a message

constexpr std::int64_t kMaxSize = 1'000'000'000'000'000;

constexpr std::string_view kGeluTanh = "gelu_tanh";

Result<OperatorKind> parse_kind(std::string_view word, const Position& at) {
  if (word == kGeluTanh) return OperatorKind::kGelu;
  return parse_choice<OperatorKind>(word, kOperatorKindNames, at);
}

Result<void> parse_impl(Operator& op, std::string_view word, const Position& at) {
  const Description& known = description(op.kind);
  if (!word.empty() && word == known.eager_word) {
    op.impl = Impl::kEager;
    return {};
  }
  TRY_ASSIGN(op.impl, parse_choice<Impl>(plain_impl(word), kImplNames, at));
  if (!has_impl(op.kind, op.impl))
    return fail(fmt::format("{} has no implementation {}", name(op.kind), name(op.impl)), at);
  if (known.set_impl != nullptr) known.set_impl(op);
  return {};
}

Result<void> parse_pass(Operator& op, std::string_view word, const Position& at) {
  TRY_ASSIGN(op.pass, parse_choice<PassKind>(word, kPassNames, at));
  const bool step = op.pass == PassKind::kStep;
  const bool apart = op.pass == PassKind::kInput || op.pass == PassKind::kWeight;
  const bool only_backward = op.impl == Impl::kZeroGrad && op.pass == PassKind::kForward;
  const bool forward_only = is_of_formats(op.kind) && op.pass != PassKind::kForward;
  if (step != is_optimizer(op.kind) || forward_only || (apart && !description(op.kind).has_weight) ||
      only_backward)
    return fail(fmt::format("{} has no pass {}", name(op.kind), name(op.pass)), at);
  return {};
}

Position moved(const Position& at, std::string_view whole, std::string_view part) {
  if (at.column == 0) return at;
  return {at.file, at.line, at.column + static_cast<int>(part.data() - whole.data())};
}

Result<void> read_size(Operator& op, std::string_view item, std::array<bool, kMaxSizes>& given,
                       const Position& at) {
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
    return fail(fmt::format("found {}={}, expected {}", word,
                            value.size() > kLongest ? quoted(value) : printable(value),
                            flag ? "0 or 1" : "a whole number from 1 to 10^15"),
                at);
  FlatSizes sizes = op.flat();
  sizes[i] = *number;
  op.set_flat(sizes);
  given[i] = true;
  return {};
}

}  // namespace

std::span<const std::string_view> size_names(OperatorKind kind) { return description(kind).size_names; }

std::string sizes_text(const Operator& op) {
  std::string text;
  const auto names = size_names(op.kind);
  for (std::size_t i = 0; i < names.size(); ++i)
    text += fmt::format("{}{}={}", i == 0 ? "" : " ", names[i], op.flat()[i]);
  return text;
}

std::string_view impl_text(const Operator& op) { return name(impl_of(op)); }

Result<void> read_sizes(Operator& op, std::string_view text, const Position& at) {
  std::array<bool, kMaxSizes> given{};
  for (const std::string_view item : split(text, ' ')) {
    if (item.empty()) continue;
    TRY(read_size(op, item, given, moved(at, text, item)));
  }
  if (const auto set_defaults = description(op.kind).set_defaults) set_defaults(op, given);
  const auto names = size_names(op.kind);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!given[i])
      return fail(fmt::format("{} lacks its size {}: found {}", name(op.kind), names[i], quoted(text)), at);
  const auto check = description(op.kind).check_sizes;
  return check == nullptr ? Result<void>() : check(op, at);
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
