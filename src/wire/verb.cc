#include "wire/verb.h"

#include <array>

#include "base/did_you_mean.h"
#include "base/json.h"
#include "base/text.h"

namespace foretrain {

std::span<const Verb> verbs() {
  static constexpr std::array<Verb, 12> kVerbs = {{
      {"predict", "Step time, memory and throughput of one run", kMostRequestBytes, predict_verb},
      {"over", "One run over the values of one or two keys", kMostRequestBytes, over_verb},
      {"compare", "Several runs side by side", kMostRequestBytes, compare_verb},
      {"accuracy", "What predictions of published runs like one were off by", kMostRequestBytes,
       accuracy_verb},
      {"search", "Every legal plan, the best of them, and why not another", kMostRequestBytes, search_verb},
      {"convert", "A run as it is understood, or as a framework is launched with it", kMostRequestBytes,
       convert_verb},
      {"list", "Names that other requests take", kMostRequestBytes, list_verb},
      {"show", "What stands behind a name", kMostRequestBytes, show_verb},
      {"cost", "What operators take, one or a table of samples", kMostRequestBytes, cost_verb},
      {"import", "What others measured: logs, traces, tables of links", kMostUploadBytes, import_verb},
      {"validate", "Predictions against measured runs", kMostUploadBytes, validate_verb},
      {"diagnose", "A run's log or trace beside its prediction", kMostUploadBytes, diagnose_verb},
  }};
  return kVerbs;
}

Result<const Verb*> find_verb(std::string_view name) {
  std::vector<std::string> names;
  for (const Verb& verb : verbs()) {
    if (verb.name == name) return &verb;
    names.emplace_back(verb.name);
  }
  return fail("unknown verb " + quoted(name) + suggestion(name, names));
}

std::string text_answer(std::string_view text) {
  JsonWriter w;
  w.begin_object().key("text").value(text).end_object();
  return w.text();
}

std::string with_views(std::string answer, const std::vector<std::pair<const char*, std::string>>& views) {
  if (views.empty()) return answer;
  std::string out = "{\n\"answer\": " + std::move(answer);
  for (const auto& [key, view] : views) out.append(",\n").append(json_text(key)).append(": ").append(view);
  return out + "\n}\n";
}

}  // namespace foretrain
