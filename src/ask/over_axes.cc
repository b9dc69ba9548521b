#include "ask/over_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ask/number_range.h"
#include "base/did_you_mean.h"
#include "base/field_mark.h"
#include "base/text.h"
#include "spec/cluster_figures.h"
#include "spec/plan_fields.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

constexpr std::string_view kField = "over";

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

Result<std::vector<std::string>> words_of_range(std::string_view key, std::string_view text, Kind kind) {
  if (kind == Kind::kWords)
    return fail_field(kField, fmt::format("{}: found {}, expected words, with commas between them", key,
                                          foretrain::quoted(text)));
  auto words = range_words(text, kind == Kind::kWhole, key == "global_batch" ? "tok" : "");
  if (!words) return fail_field(kField, fmt::format("{}: {}", key, words.error().message));
  TRY(check_word(key, words->front()));
  TRY(check_word(key, words->back()));
  return words;
}

// 4k is the number that it stands for.
std::string plain_word(const std::string& word, Kind kind) {
  if (kind == Kind::kWords) return word;
  const auto number = number_of(word);
  return number ? number_text(*number, kind == Kind::kWhole) : word;
}

Result<void> add_part(OverAxis& axis, std::string_view part, Kind kind) {
  if (part.empty()) return fail_field(kField, fmt::format("{}: found nothing, expected a value", axis.key));
  std::vector<std::string> words = {std::string(part)};
  if (is_range(part)) {
    TRY_ASSIGN(words, words_of_range(axis.key, part, kind));
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
