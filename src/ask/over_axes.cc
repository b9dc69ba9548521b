#include "ask/over_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/did_you_mean.h"
#include "base/field_mark.h"
#include "base/text.h"
#include "spec/cluster_figures.h"
#include "spec/plan_fields.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

constexpr std::string_view kField = "over";
constexpr std::int64_t kFewSteps = 16;
constexpr std::int64_t kSteps = 8;

struct RunKey {
  std::string_view key;
  bool whole;  // a count; otherwise words
  void (*put)(RunOptions& options, const std::string& word);
};

std::int64_t count(const std::string& word) { return parse_count(word).value_or(0); }

constexpr RunKey kRunKeys[] = {
    {"gpus", true, [](RunOptions& o, const std::string& w) { o.gpus = count(w); }},
    {"seq", true, [](RunOptions& o, const std::string& w) { o.seq = count(w); }},
    {"global_batch", true,
     [](RunOptions& o, const std::string& w) {
       o.global_batch_tokens = batch_tokens(w).value_or(0);
       o.global_batch = o.global_batch_tokens > 0 ? 0 : count(w);
     }},
    {"model", false, [](RunOptions& o, const std::string& w) { o.model = w; }},
    {"cluster", false, [](RunOptions& o, const std::string& w) { o.cluster = w; }},
    {"stack", false, [](RunOptions& o, const std::string& w) { o.stack = w; }},
    {"documents", false, [](RunOptions& o, const std::string& w) { o.documents = w; }},
    {"task", false, [](RunOptions& o, const std::string& w) { o.task = w; }},
};

const RunKey* find_run_key(std::string_view key) {
  const auto* found = std::find_if(std::begin(kRunKeys), std::end(kRunKeys),
                                   [key](const RunKey& known) { return known.key == key; });
  return found == std::end(kRunKeys) ? nullptr : found;
}

enum class Kind { kWords, kWhole, kReal };

// What a key of plans holds; none where there is no such key.
std::optional<Kind> plan_kind(std::string_view key) {
  std::optional<Kind> kind;
  for_each_field(kPlanFields, [&](const auto& field) {
    using Held = std::remove_cvref_t<decltype(field.kind)>;
    if (field.key != key) return;
    kind = std::is_same_v<Held, WholeNumber>  ? Kind::kWhole
           : std::is_same_v<Held, RealNumber> ? Kind::kReal
                                              : Kind::kWords;
  });
  return kind;
}

Result<Kind> kind_of(std::string_view key) {
  if (const RunKey* run = find_run_key(key)) return run->whole ? Kind::kWhole : Kind::kWords;
  if (const auto plan = plan_kind(key)) return *plan;
  if (const ClusterFigure* figure = find_cluster_figure(key))
    return figure->whole ? Kind::kWhole : Kind::kReal;
  std::vector<std::string> known;
  for (const RunKey& k : kRunKeys) known.emplace_back(k.key);
  for (const std::string_view k : keys_of(kPlanFields)) known.emplace_back(k);
  for (const ClusterFigure& figure : cluster_figures()) known.emplace_back(figure.key);
  return fail_field(kField, fmt::format("unknown key {}{}", foretrain::quoted(key), suggestion(key, known)));
}

// None above what a double counts one by one.
std::optional<double> number_of(std::string_view word) {
  constexpr double kMost = 1e15;
  std::optional<double> number = parse_number(word);
  if (!number)
    if (const auto whole = parse_count(word)) number = static_cast<double>(*whole);
  return number && std::abs(*number) <= kMost ? number : std::nullopt;
}

std::string number_text(double value, Kind kind) {
  if (kind == Kind::kWhole) return fmt::format("{}", std::llround(value));
  return fmt::format("{}", value);
}

// What lies between the ends of a range is read more easily in four digits.
double rounded(double value) {
  const double unit = std::pow(10, std::floor(std::log10(std::max(std::abs(value), 1e-9))) - 3);
  return unit >= 1 ? std::round(value / unit) * unit : std::round(value / unit) / std::round(1 / unit);
}

// From one end to the other, both included.
std::vector<double> steps(double low, double high, std::int64_t points, bool ratios, Kind kind) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < points; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(std::max<std::int64_t>(points - 1, 1));
    const double between = ratios ? low * std::pow(high / low, part) : low + (high - low) * part;
    // Four digits where they keep points apart; a count is whole.
    const double round = std::abs(rounded(between) - between) * static_cast<double>(points) < (high - low) / 4
                             ? rounded(between)
                         : kind == Kind::kWhole ? std::round(between)
                                                : between;
    out.push_back(i == 0 ? low : i + 1 == points ? high : std::clamp(round, low, high));
  }
  return out;
}

std::vector<double> values_of(double low, double high, std::optional<std::int64_t> points, Kind kind) {
  const bool doubles = low > 0 && high >= 2 * low;
  if (points) return steps(low, high, *points, doubles, kind);
  if (high == low) return {low};
  if (!doubles && kind == Kind::kWhole && high - low <= kFewSteps)
    return steps(low, high, std::llround(high - low) + 1, false, kind);
  if (!doubles) return steps(low, high, kSteps + 1, false, kind);
  std::vector<double> out;
  for (double v = low; v < high; v *= 2) out.push_back(v);
  out.push_back(high);
  return out;
}

// Whether the key could have the word in some run.
Result<void> check_word(std::string_view key, const std::string& word) {
  const auto wrong = [&](std::string_view expected) {
    return fail_field(kField,
                      fmt::format("{}: found {}, expected {}", key, foretrain::quoted(word), expected));
  };
  if (find_run_key(key) != nullptr) {
    if (!find_run_key(key)->whole || (key == "global_batch" && batch_tokens(word))) return {};
    const auto number = parse_count(word);
    if (!number || *number < 1) return wrong("a whole number of at least 1");
    return {};
  }
  if (const ClusterFigure* figure = find_cluster_figure(key)) {
    const auto number = number_of(word);
    if (!number || !may_be(*figure, *number)) return wrong(expected_of(*figure));
    return {};
  }
  TRY(of_field(kField, parse_plan(fmt::format("{}={}", key, word))));
  return {};
}

Result<std::vector<std::string>> range_words(std::string_view key, std::string_view text, Kind kind) {
  const auto wrong = [&](std::string_view expected) {
    return fail_field(kField,
                      fmt::format("{}: found {}, expected {}", key, foretrain::quoted(text), expected));
  };
  if (kind == Kind::kWords) return wrong("words, with commas between them");
  const std::size_t dots = text.find(".."), slash = text.find('/');
  std::optional<std::int64_t> points;
  if (slash != std::string_view::npos) {
    points = parse_integer(trim(text.substr(slash + 1)));
    if (!points || *points < 2 || *points > static_cast<std::int64_t>(kMostOverPoints))
      return wrong(fmt::format("from 2 to {} points behind the '/'", kMostOverPoints));
  }
  const auto low = number_of(trim(text.substr(0, dots)));
  const auto high =
      number_of(trim(text.substr(dots + 2, slash == std::string_view::npos ? slash : slash - dots - 2)));
  const bool whole =
      kind != Kind::kWhole || (low && high && *low == std::floor(*low) && *high == std::floor(*high));
  if (!low || !high || !whole) return wrong("a range of numbers such as 1..8 or 100..3200/20");
  if (*low > *high) return wrong("the smaller number first");
  TRY(check_word(key, number_text(*low, kind)));
  TRY(check_word(key, number_text(*high, kind)));
  std::vector<std::string> words;
  for (const double value : values_of(*low, *high, points, kind)) {
    std::string word = number_text(value, kind);
    if (words.empty() || words.back() != word) words.push_back(std::move(word));
  }
  return words;
}

// 4k is the number that it stands for.
std::string plain_word(const std::string& word, Kind kind) {
  if (kind == Kind::kWords) return word;
  const auto number = number_of(word);
  return number ? number_text(*number, kind) : word;
}

Result<void> add_part(OverAxis& axis, std::string_view part, Kind kind) {
  if (part.empty()) return fail_field(kField, fmt::format("{}: found nothing, expected a value", axis.key));
  std::vector<std::string> words = {std::string(part)};
  if (part.find("..") != std::string_view::npos) {
    TRY_ASSIGN(words, range_words(axis.key, part, kind));
  }
  for (std::string& word : words) {
    if (axis.words.size() >= kMostOverPoints)
      return fail_field(kField, fmt::format("{}: found more than {} values, expected at most so many",
                                            axis.key, kMostOverPoints));
    TRY(check_word(axis.key, word));
    axis.numbers = axis.numbers && number_of(word).has_value();
    word = plain_word(word, kind);
    if (std::find(axis.words.begin(), axis.words.end(), word) == axis.words.end())
      axis.words.push_back(std::move(word));
  }
  return {};
}

}  // namespace

Result<std::vector<OverAxis>> parse_axes(std::string_view text) {
  std::vector<OverAxis> axes;
  Kind kind = Kind::kWords;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos && axes.empty())
      return fail_field(kField, fmt::format("found {}, expected key=a..b such as inter_gbps=100..3200",
                                            foretrain::quoted(trim(part))));
    if (equals != std::string_view::npos) {
      const std::string_view key = trim(part.substr(0, equals));
      TRY_ASSIGN(kind, kind_of(key));
      for (const OverAxis& axis : axes)
        if (axis.key == key)
          return fail_field(kField, fmt::format("duplicate key {}", foretrain::quoted(key)));
      if (axes.size() == 2) return fail_field(kField, "found three keys, expected one or two");
      axes.push_back({std::string(key), {}, true});
    }
    TRY(add_part(axes.back(), trim(equals == std::string_view::npos ? part : part.substr(equals + 1)), kind));
  }
  std::size_t points = 1;
  for (const OverAxis& axis : axes) points *= axis.words.size();
  if (points > kMostOverPoints)
    return fail_field(kField, fmt::format("found {} points, expected at most {}", points, kMostOverPoints));
  return axes;
}

bool names_a_spec(std::string_view key) { return key == "model" || key == "cluster" || key == "stack"; }

bool put_word(RunOptions& options, std::string_view key, const std::string& word) {
  if (const RunKey* run = find_run_key(key)) {
    run->put(options, word);
    return true;
  }
  if (find_cluster_figure(key) != nullptr) return false;
  if (!options.plan_over.empty()) options.plan_over += ',';
  options.plan_over += fmt::format("{}={}", key, word);
  return true;
}

}  // namespace foretrain
