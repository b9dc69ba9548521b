#include "library/plan_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/text.h"
#include "base/yaml.h"
#include "spec/plan_fields.h"
#include "spec/plan_text.h"
#include "spec/read_fields.h"

namespace foretrain {
namespace {

constexpr std::size_t kFields = std::tuple_size_v<decltype(kPlanFields)>;
constexpr std::size_t kMostCombinations = 10'000;

using Number = std::variant<std::int64_t, double>;

template <class Kind>
constexpr bool kIsNumber =
    std::is_same_v<Kind, WholeNumber> || std::is_same_v<Kind, RealNumber> || std::is_same_v<Kind, Flag>;

template <class T>
struct Bare {
  using Type = T;
};
template <class T>
struct Bare<std::optional<T>> {
  using Type = T;
};

// Within the bounds of the kind; none: not, or no number of this kind.
template <class T>
std::optional<T> fitting(Number number, const WholeNumber& kind) {
  std::int64_t whole = 0;
  if (const auto* real = std::get_if<double>(&number)) {
    if (!(std::abs(*real) < 9e15) || *real != std::floor(*real)) return std::nullopt;
    whole = static_cast<std::int64_t>(*real);
  } else {
    whole = std::get<std::int64_t>(number);
  }
  return whole >= kind.low && whole <= kind.high ? std::optional(static_cast<T>(whole)) : std::nullopt;
}
template <class T>
std::optional<T> fitting(Number number, const RealNumber& kind) {
  const double real = std::visit([](auto v) { return static_cast<double>(v); }, number);
  return real >= kind.low && real <= kind.high ? std::optional(static_cast<T>(real)) : std::nullopt;
}
template <class T>
std::optional<T> fitting(Number number, const Flag&) {
  const double real = std::visit([](auto v) { return static_cast<double>(v); }, number);
  return real == 0 || real == 1 ? std::optional(static_cast<T>(real == 1)) : std::nullopt;
}

// What does not fit is refused by the reader of files, in its words.
template <class F>
Result<void> refused(const F& f, Number number) {
  Node node;
  node.kind = Node::Kind::kScalar;
  node.scalar = std::visit([](auto v) { return fmt::format("{}", v); }, number);
  typename F::Value value{};
  auto read = read_value(node, value, f.kind);
  if (read) return fail(fmt::format("{}: found {}, expected another number", f.key, node.scalar));
  return named(f.key, std::move(read).error());
}

template <std::size_t kIndex>
Result<void> set_number(Plan& plan, Number number) {
  constexpr const auto& f = std::get<kIndex>(kPlanFields);
  using F = std::remove_cvref_t<decltype(f)>;
  if constexpr (kIsNumber<std::remove_cvref_t<decltype(f.kind)>>) {
    const auto value = fitting<typename Bare<typename F::Value>::Type>(number, f.kind);
    if (!value) return refused(f, number);
    plan.*f.member = *value;
  }
  return {};
}

struct FieldUse {
  std::string_view key;
  bool number = false;
  std::span<const std::string_view> words;  // its own, by code
  Result<void> (*set)(Plan&, Number) = nullptr;
};

std::span<const std::string_view> own_words(const OneOf& kind) { return kind.names; }
template <class Kind>
std::span<const std::string_view> own_words(const Kind&) {
  return {};
}

template <std::size_t... kIndex>
const std::array<FieldUse, kFields>& uses_of(std::index_sequence<kIndex...>) {
  static const std::array<FieldUse, kFields> uses = {
      FieldUse{std::get<kIndex>(kPlanFields).key,
               kIsNumber<std::remove_cvref_t<decltype(std::get<kIndex>(kPlanFields).kind)>>,
               own_words(std::get<kIndex>(kPlanFields).kind), set_number<kIndex>}...};
  return uses;
}
const std::array<FieldUse, kFields>& field_uses() { return uses_of(std::make_index_sequence<kFields>()); }

// Absent: missing.
std::optional<Number> number_at(const PlanColumn& column, std::size_t i) {
  if (const auto* reals = std::get_if<std::span<const double>>(&column.values))
    return std::isnan((*reals)[i]) ? std::nullopt : std::optional<Number>((*reals)[i]);
  const std::int64_t whole = std::get<std::span<const std::int64_t>>(column.values)[i];
  return whole == kMissing ? std::nullopt : std::optional<Number>(whole);
}

std::int64_t code_at(const PlanColumn& column, std::size_t i) {
  const std::optional<Number> number = number_at(column, i);
  if (!number) return kMissing;
  const auto code = fitting<std::int64_t>(*number, WholeNumber{kMissing, std::int64_t{1} << 53});
  if (!code) return std::numeric_limits<std::int64_t>::max();  // no word has it
  return *code < 0 ? kMissing : *code;
}

}  // namespace

Result<void> PlanColumns::add(PlanColumn column) {
  const auto& uses = field_uses();
  const auto use =
      std::find_if(uses.begin(), uses.end(), [&](const FieldUse& u) { return u.key == column.key; });
  if (use == uses.end()) {
    Node map;
    map.kind = Node::Kind::kMap;
    map.entries.emplace_back(column.key, Node());
    map.key_at.emplace_back();
    return only_fields(map, "a plan", keys_of(kPlanFields));
  }
  const auto same = [&](const Column& other) { return other.stated.key == column.key; };
  if (std::any_of(numbers_.begin(), numbers_.end(), same) || std::any_of(words_.begin(), words_.end(), same))
    return fail(fmt::format("duplicate key {}", quoted(column.key)));
  const std::size_t index = static_cast<std::size_t>(use - uses.begin());
  if (use->number && column.words.empty()) {
    numbers_.push_back({std::move(column), index});
    return {};
  }
  if (column.words.empty() && use->words.empty())
    return fail(fmt::format("{}: found numbers, expected words with the column", column.key));
  if (column.words.empty()) column.words.assign(use->words.begin(), use->words.end());
  words_.push_back({std::move(column), index});
  return {};
}

Result<PlanColumns> PlanColumns::make(std::vector<PlanColumn> columns, Plan start, std::size_t plans) {
  PlanColumns out;
  out.plans_ = plans;
  out.start_ = std::move(start);
  for (PlanColumn& column : columns) TRY(out.add(std::move(column)));
  out.codes_.resize(out.words_.size());
  return out;
}

Result<Plan> PlanColumns::read_words(const Codes& codes) const {
  Node map;
  map.kind = Node::Kind::kMap;
  for (std::size_t c = 0; c < words_.size(); ++c) {
    if (codes[c] == kMissing) continue;
    const PlanColumn& column = words_[c].stated;
    const std::size_t code = static_cast<std::size_t>(codes[c]);
    if (code >= column.words.size())
      return fail(fmt::format("{}: found a code that no word has, expected 0 to {}", column.key,
                              column.words.size() - 1));
    Node value;
    value.kind = Node::Kind::kScalar;
    value.scalar = column.words[code];
    map.entries.emplace_back(column.key, std::move(value));
    map.key_at.emplace_back();
  }
  return parse_plan(map, start_);
}

Result<const Plan*> PlanColumns::plan(std::size_t i) {
  bool same = with_words_ != nullptr;
  for (std::size_t c = 0; c < words_.size(); ++c) {
    const std::int64_t code = code_at(words_[c].stated, i);
    same = same && code == codes_[c];
    codes_[c] = code;
  }
  if (!same) {
    auto found = read_.find(codes_);
    if (found == read_.end()) {
      if (read_.size() >= kMostCombinations) read_.clear();
      found = read_.emplace(codes_, read_words(codes_)).first;
    }
    with_words_ = &found->second;
  }
  if (!*with_words_) return tl::unexpected(with_words_->error());
  plan_ = **with_words_;
  for (const Column& column : numbers_)
    if (const auto number = number_at(column.stated, i)) TRY(field_uses()[column.field].set(plan_, *number));
  return &plan_;
}

}  // namespace foretrain
