#include "completions.h"

#include <algorithm>
#include <cctype>

#include "base/files.h"
#include "base/text.h"
#include "command_table.h"
#include "cost/profile_store.h"
#include "help_text.h"
#include "operators/operator_text.h"
#include "plan_keys.h"
#include "schema_files.h"
#include "search/dimension.h"
#include "search/what_if.h"
#include "spec/catalog.h"
#include "spec/cluster_figures.h"
#include "spec/plan_fields.h"
#include "spec/schedule_kind.h"

namespace foretrain {
namespace {

// A line as far as it is typed: the subcommand, its words that are no options, and which option waits for a value.
struct Line {
  const CommandTable* table = nullptr;  // the program's own before a subcommand is named
  std::vector<std::string> arguments;
  const OptionRow* pending = nullptr;
  std::string presets, last;
  bool all_arguments = false;  // behind --
};

Line read_line(const CommandTables& tables, const std::vector<std::string>& words) {
  Line line;
  line.table = &tables.program();
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (line.pending != nullptr) {
      if (line.pending->names == "--presets") line.presets = word;
      line.pending = nullptr;
    } else if (word == "--") {
      line.all_arguments = true;
    } else if (word.starts_with("--presets=") && !line.all_arguments) {
      line.presets = word.substr(word.find('=') + 1);
    } else if (word.starts_with('-') && word.size() > 1 && !line.all_arguments) {
      const OptionRow* row = line.table->find(word);
      if (row != nullptr && !row->is_flag()) line.pending = row;
    } else if (line.table == &tables.program() && tables.find(word) != nullptr) {
      line.table = tables.find(word);
    } else {
      line.arguments.push_back(word);
    }
  }
  if (words.size() > 1) line.last = words.back();
  return line;
}

class Completer {
 public:
  Completer(const CommandTables& tables, const Line& line) : tables_(tables), line_(line) {}

  Completions complete() {
    if (line_.pending != nullptr) return value(line_.pending->completes, "", line_.last);
    const std::size_t equals = line_.last.find('=');
    if (line_.last.starts_with("--") && equals != std::string::npos && !line_.all_arguments) {
      const OptionRow* row = line_.table->find(line_.last.substr(0, equals));
      if (row == nullptr || row->is_flag()) return {};
      return value(row->completes, line_.last.substr(0, equals + 1), line_.last.substr(equals + 1));
    }
    if (line_.last.starts_with('-') && !line_.all_arguments) return options();
    if (line_.table == &tables_.program()) return commands(false);
    return argument();
  }

 private:
  Completions options() {
    for (const OptionRow& row : line_.table->rows)
      if (!row.is_argument)
        for (const std::string& name : names_of(row))
          if (name.starts_with("--") || line_.last == name) offer(name, row.help);
    return out_;
  }

  Completions commands(bool with_topics) {
    for (const CommandTable& table : tables_.commands()) offer(table.name, table.what);
    if (with_topics)
      for (const std::string& topic : help_topics()) offer(topic, "");
    return out_;
  }

  Completions argument() {
    std::vector<const OptionRow*> rows;
    for (const OptionRow& row : line_.table->rows)
      if (row.is_argument) rows.push_back(&row);
    if (rows.empty()) return {};
    const std::size_t at = line_.arguments.size();
    if (at >= rows.size() && !rows.back()->repeats()) return {};
    return value(rows[std::min(at, rows.size() - 1)]->completes, "", line_.last);
  }

  // `before` stands in the word already: "--model=".
  Completions value(const Completes& completes, const std::string& before, const std::string& word) {
    before_ = before;
    word_ = word;
    switch (completes.takes) {
      case Takes::kText:
        break;
      case Takes::kWords:
        for (const std::string_view known : completes.words) offer(known, "");
        break;
      case Takes::kFile:
        out_.files = true;
        break;
      case Takes::kFolder:
        out_.folders = true;
        break;
      case Takes::kModel:
        names("models");
        break;
      case Takes::kGpu:
        names("gpus");
        break;
      case Takes::kCluster:
        names("clusters");
        break;
      case Takes::kStack:
        names("stacks");
        break;
      case Takes::kProfile:
        names("profiles");
        break;
      case Takes::kPlan:
        keys(plan_words(), Commas::kKeys);
        break;
      case Takes::kDimension:
      case Takes::kRange:
        keys(dimension_words(completes.takes == Takes::kRange), Commas::kValues);
        break;
      case Takes::kOver:
        keys(over_words(), Commas::kValues);
        break;
      case Takes::kFigure:
        keys(figure_words(), Commas::kNone);
        break;
      case Takes::kOperator:
        operators();
        break;
      case Takes::kName:
        names((line_.arguments.empty() ? "" : line_.arguments.front()) + "s");
        break;
      case Takes::kSchema:
        for (const std::string& name : schema_names()) offer(name, "");
        break;
      case Takes::kCommand:
        commands(true);
        break;
    }
    return std::move(out_);
  }

  void offer(std::string_view word, std::string_view what) {
    std::string whole = before_ + std::string(word);
    if (!whole.starts_with(line_.last)) return;
    const std::string_view first = what.substr(0, what.find(". "));
    out_.words.push_back({std::move(whole), std::string(first)});
  }

  // Of presets, the user's too; a file or a folder can stand there as well.
  void names(const std::string& kind) {
    if (kind == "profiles") {
      offer(kAnalyticProfile, "datasheets and formulas only");
      for (const std::string& name : ProfileStore(disk(), line_.presets).names()) offer(name, "");
    } else {
      for (const std::string& name : Catalog(disk(), line_.presets).names(kind)) offer(name, "");
    }
    out_.files = out_.words.empty();
  }

  // A key and the words that may follow it; none: a number, or what cannot be listed.
  struct Key {
    std::string_view key;
    std::vector<std::string_view> words;
    std::string what;
  };

  // What may stand behind a comma: nothing (one key alone: gpus=512), a key (tp=4,recompute=fu), or a further value of the
  // key before it too (zero=1,2,tp=4).
  enum class Commas : unsigned char { kNone, kKeys, kValues };

  // What the last key before a comma may be besides: "zero=1,2" has no more of 1 and 2.
  void further_values(const std::vector<Key>& known, const std::string& done) {
    const std::size_t equals = done.rfind('=');
    if (equals == std::string::npos) return;
    const std::size_t comma = done.rfind(',', equals);
    const std::size_t begin = comma == std::string::npos ? 0 : comma + 1;
    const std::vector<std::string_view> given = split(std::string_view(done).substr(equals + 1), ',');
    for (const Key& key : known)
      if (key.key == std::string_view(done).substr(begin, equals - begin))
        for (const std::string_view word : key.words)
          if (std::find(given.begin(), given.end(), word) == given.end()) offer(word, "");
  }

  // A value may itself be several: recompute_modules=mlp+norm.
  void keys(const std::vector<Key>& known, Commas commas) {
    const std::size_t comma = commas == Commas::kNone ? std::string::npos : word_.rfind(',');
    const std::string done = comma == std::string::npos ? "" : word_.substr(0, comma + 1);
    const std::string part = word_.substr(done.size());
    const std::size_t equals = part.find('=');
    out_.goes_on = true;
    before_ += done;
    if (equals == std::string::npos) {
      if (commas == Commas::kValues) further_values(known, done);
      for (const Key& key : known) offer(std::string(key.key) + "=", key.what);
      return;
    }
    const auto key = std::find_if(known.begin(), known.end(),
                                  [&](const Key& k) { return k.key == part.substr(0, equals); });
    if (key == known.end()) return;
    const std::size_t plus = part.rfind('+');
    before_ += part.substr(0, plus == std::string::npos ? equals + 1 : plus + 1);
    for (const std::string_view word : key->words) offer(word, "");
  }

  // A number format is a recipe's name.
  std::vector<Key> plan_words() const {
    std::vector<Key> out;
    for (PlanKey& key : plan_keys()) {
      if (key.key == plan_field<&Plan::precision>.key) key.words = {recipes_.begin(), recipes_.end()};
      out.push_back({key.key, std::move(key.words), std::move(key.meaning)});
    }
    return out;
  }

  std::vector<Key> dimension_words(bool numbers_alone) const {
    const std::vector<Key> plan = plan_words();
    std::vector<Key> out;
    for (const Dimension& d : dimensions()) {
      if (numbers_alone && (!d.words.empty() || d.read != nullptr)) continue;
      out.push_back({d.name, {d.words.begin(), d.words.end()}, ""});
      const auto same = std::find_if(plan.begin(), plan.end(), [&](const Key& k) { return k.key == d.name; });
      if (d.words.empty() && same != plan.end()) out.back().words = same->words;
    }
    return out;
  }

  static std::vector<Key> figure_words() {
    std::vector<Key> out;
    for (const ClusterFigure& figure : cluster_figures())
      out.push_back({figure.key, {}, expected_of(figure)});
    for (const RunFigure& figure : run_figures()) out.push_back({figure.key, {}, std::string(figure.what)});
    return out;
  }

  std::vector<Key> over_words() const {
    std::vector<Key> out = plan_words();
    for (Key& key : figure_words()) out.push_back(std::move(key));
    for (const std::string_view key : {"documents", "task"}) out.push_back({key, {}, "of the run"});
    for (const auto& [key, list] :
         {std::pair{"model", &models_}, {"cluster", &clusters_}, {"stack", &stacks_}})
      out.push_back({key, {list->begin(), list->end()}, "of the run"});
    return out;
  }

  void operators() {
    if (line_.arguments.empty()) {
      for (const std::string_view name : kOperatorKindNames) offer(name, "");
      out_.files = out_.words.empty();
      return;
    }
    const auto found =
        std::find(kOperatorKindNames.begin(), kOperatorKindNames.end(), line_.arguments.front());
    if (found == kOperatorKindNames.end()) return;
    out_.goes_on = true;
    for (const std::string_view name :
         size_names(static_cast<OperatorKind>(found - kOperatorKindNames.begin())))
      offer(std::string(name) + "=", "");
  }

  const CommandTables& tables_;
  const Line& line_;
  std::string before_, word_;
  Completions out_;
  std::vector<std::string> models_ = Catalog(disk(), line_.presets).names("models"),
                           clusters_ = Catalog(disk(), line_.presets).names("clusters"),
                           stacks_ = Catalog(disk(), line_.presets).names("stacks"),
                           recipes_ = Catalog(disk(), line_.presets).names("recipes");
};

}  // namespace

Completions completions(const std::vector<std::string>& words) {
  const CommandTables tables;
  const Line line = read_line(tables, words);
  return Completer(tables, line).complete();
}

std::string to_text(const Completions& completions) {
  constexpr std::size_t kMostWords = 70;
  std::string out;
  for (const CompletedWord& candidate : completions.words) {
    out += candidate.word;
    if (!candidate.what.empty())
      out += "\t" + (candidate.what.size() <= kMostWords
                         ? candidate.what
                         : candidate.what.substr(0, candidate.what.rfind(' ', kMostWords)) + " ...");
    out += '\n';
  }
  const bool files = completions.files, folders = completions.folders;
  return out + (files ? ":files" : folders ? ":folders" : completions.goes_on ? ":goes_on" : ":") + "\n";
}

}  // namespace foretrain
