#include "ask/validate.h"

#include <iterator>

#include "ask/guard.h"
#include "base/field_mark.h"
#include "spec/choice.h"

namespace foretrain {
namespace {

// The first name where the word is not given.
template <class E, std::size_t n>
Result<E> choice_of(std::string_view field, const std::string& word,
                    const std::array<std::string_view, n>& names) {
  if (word.empty()) return E{};
  return of_field(field, parse_choice<E>(word, names));
}

Result<ValidateAnswer> validated(Session& session, ValidateRequest& request) {
  if (request.tables.empty())
    return fail_field("tables", "found no input, expected a table of measured runs or a folder");
  ValidateAnswer answer;
  TRY_ASSIGN(const Against against, choice_of<Against>("against", request.against, kAgainstNames));
  TRY_ASSIGN(answer.by, choice_of<GroupBy>("by", request.by, kGroupByNames));
  const ProfileStore& profiles = session.profiles();
  if (!request.profile.empty() && request.profile != kAnalyticProfile)
    TRY(of_field("profile", profiles.load(request.profile)));
  std::vector<MeasuredRow> rows;
  for (Sources& table : request.tables) {
    TRY_ASSIGN(std::vector<MeasuredRow> more, measured_rows_of(std::move(table), answer.notes));
    std::move(more.begin(), more.end(), std::back_inserter(rows));
  }
  TRY_ASSIGN(answer.rows, score_rows(rows, session.catalog(), against, &profiles, request.profile));
  return answer;
}

}  // namespace

Result<ValidateAnswer> ask(Session& session, ValidateRequest request) {
  return guarded([&] { return validated(session, request); });
}

}  // namespace foretrain
