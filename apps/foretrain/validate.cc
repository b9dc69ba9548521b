// foretrain validate: measured runs against what is predicted for them.
#include <fmt/format.h>

#include <iterator>

#include "commands.h"
#include "report/validate_report.h"
#include "spec/catalog.h"
#include "spec/choice.h"

namespace foretrain {

namespace {

// The first name where the option is not given.
template <class E, std::size_t n>
Result<E> choice_of(std::string_view option, const std::string& word,
                    const std::array<std::string_view, n>& names) {
  if (word.empty()) return E{};
  auto choice = parse_choice<E>(word, names);
  if (!choice) return fail(fmt::format("{}: {}", option, choice.error().message));
  return choice;
}

Result<std::string> validated(const ValidateOptions& options, const std::string& presets_folder) {
  if (options.inputs.empty())
    return fail("validate: found no input, expected a table of measured runs or a folder");
  TRY_ASSIGN(const Against against, choice_of<Against>("--against", options.against, kAgainstNames));
  TRY_ASSIGN(const GroupBy by, choice_of<GroupBy>("--by", options.by, kGroupByNames));
  const ProfileStore store(disk(), presets_folder);
  if (!options.profile.empty() && options.profile != kAnalyticProfile)
    if (const auto known = store.load(options.profile); !known)
      return fail("--profile: " + known.error().message);
  std::vector<MeasuredRow> rows;
  for (const std::string& input : options.inputs) {
    TRY_ASSIGN(std::vector<MeasuredRow> more, read_measured_rows(disk(), input));
    std::move(more.begin(), more.end(), std::back_inserter(rows));
  }
  TRY_ASSIGN(const std::vector<RowScore> scores,
             score_rows(rows, Catalog(disk(), presets_folder), against, &store, options.profile));
  const ValidateReport report{by, options.rows};
  return options.json ? validate_json(scores, report) : validate_text(scores, report);
}

}  // namespace

int run_validate(const ValidateOptions& options, const std::string& presets_folder) {
  const auto text = validated(options, presets_folder);
  return text ? answer(*text) : refuse(text.error());
}

}  // namespace foretrain
