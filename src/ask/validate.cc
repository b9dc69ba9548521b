#include "ask/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "ask/calibrate.h"
#include "ask/guard.h"
#include "base/field_mark.h"
#include "base/text.h"
#include "calibrate/measured_rows.h"
#include "calibrate/run_identity.h"
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

// Rows of one table may share an id; of several tables they are the same row, published again.
void keep_last(std::vector<std::vector<MeasuredRow>>& tables, std::vector<std::string>& notes) {
  std::set<std::pair<std::string, std::string>> later;
  std::size_t dropped = 0;
  for (auto table = tables.rbegin(); table != tables.rend(); ++table) {
    dropped += std::erase_if(*table, [&](const MeasuredRow& row) {
      return later.contains({row.source, row.id});
    });
    for (const MeasuredRow& row : *table) later.emplace(row.source, row.id);
  }
  if (dropped > 0)
    notes.push_back(fmt::format("{} {} in several tables, by source and id: the last counts", dropped,
                                dropped == 1 ? "row stands" : "rows stand"));
}

Result<std::vector<MeasuredRow>> rows_of(std::vector<Sources>& folders, std::vector<std::string>& notes) {
  std::vector<std::vector<MeasuredRow>> tables;
  for (Sources& folder : folders)
    for (Source& file : folder.files) {
      TRY_ASSIGN(std::vector<MeasuredRow> table, measured_rows_of({.files = {std::move(file)}}, notes));
      tables.push_back(std::move(table));
    }
  keep_last(tables, notes);
  std::vector<MeasuredRow> rows;
  for (std::vector<MeasuredRow>& table : tables)
    std::move(table.begin(), table.end(), std::back_inserter(rows));
  return rows;
}

Result<void> check_rows(std::size_t rows, const RowShare& share) {
  if (share.stop != nullptr && *share.stop) return fail("nobody waits for it any more");
  if (share.most_rows > 0 && rows > share.most_rows)
    return fail_field("tables", fmt::format("found {} rows, expected at most {}",
                                            with_commas(static_cast<std::int64_t>(rows)),
                                            with_commas(static_cast<std::int64_t>(share.most_rows))));
  return {};
}

Result<void> check_tables(const std::vector<Sources>& tables) {
  if (tables.empty())
    return fail_field("tables", "found no input, expected a table of measured runs or a folder");
  return {};
}

// Rows of the calibration's cluster as it has them; those that taught it among them, which is told.
Result<void> stand_on(Session& session, const ValidateRequest& request, ValidateAnswer& answer) {
  TRY_ASSIGN(const std::optional<Calibration> calibration,
             of_field("calibration", calibration_of(session, request.calibration)));
  if (!calibration) return {};
  RowsStanding standing{.name = calibration->name, .origin = calibration->origin_words()};
  for (RowScore& row : answer.rows) {
    if (!row.skipped.empty()) continue;
    auto choice = session.costs_for(row.run->cluster, request.profile);
    if (!choice) {
      TRY_ASSIGN(choice, session.costs_for(row.run->cluster, ""));
    }
    if (!check_applies(*calibration, row.run->cluster, choice->profile)) continue;
    calibrate_score(*calibration, choice->costs, row);
    ++standing.rows;
    standing.taught += calibration->posterior.was_measured(run_identity(*row.run)) ? 1 : 0;
  }
  answer.notes.push_back(fmt::format("{} of {} rows stand on calibration {}; {} of them taught it",
                                     standing.rows, answer.rows.size(), printable(calibration->name),
                                     standing.taught));
  answer.standing = std::move(standing);
  return {};
}

Result<ValidateAnswer> validated(Session& session, ValidateRequest& request) {
  TRY(check_tables(request.tables));
  ValidateAnswer answer;
  std::optional<Baseline> before;
  if (request.baseline) {
    TRY_ASSIGN(before, read_baseline(*request.baseline));
  }
  TRY_ASSIGN(const Against against, choice_of<Against>("against", request.against, kAgainstNames));
  TRY_ASSIGN(answer.by, choice_of<GroupBy>("by", request.by, kGroupByNames));
  const ProfileStore& profiles = session.profiles();
  if (!request.profile.empty() && request.profile != kAnalyticProfile)
    TRY(of_field("profile", profiles.load(request.profile)));
  TRY_ASSIGN(const std::vector<MeasuredRow> rows, rows_of(request.tables, answer.notes));
  TRY(check_rows(rows.size(), request.share));
  TRY_ASSIGN(answer.rows,
             score_rows(rows, session.catalog(), against, &profiles, request.profile, request.share.stop));
  TRY(stand_on(session, request, answer));
  if (before) answer.drift = drift_of(*before, baseline_of(answer.rows));
  return answer;
}

Result<CheckRowsAnswer> checked(Session& session, CheckRowsRequest& request) {
  TRY(check_tables(request.tables));
  RowChecker checker(session.catalog(), session.profiles());
  CheckRowsAnswer answer;
  for (Sources& folder : request.tables)
    for (Source& file : folder.files) {
      TRY_ASSIGN(const CsvTable table, CsvTable::parse(std::move(file.text), file.name));
      TRY(check_rows(answer.check.rows.size() + table.rows(), request.share));
      TRY_ASSIGN(TableCheck check, checker.check(table));
      for (RowCheck& row : check.rows) {
        answer.faulty = answer.faulty || row.faulty();
        answer.check.rows.push_back(std::move(row));
      }
      for (std::string& column : check.unknown) answer.check.unknown.push_back(std::move(column));
    }
  return answer;
}

}  // namespace

Result<ValidateAnswer> ask(Session& session, ValidateRequest request) {
  return guarded([&] { return validated(session, request); });
}

Result<CheckRowsAnswer> ask(Session& session, CheckRowsRequest request) {
  return guarded([&] { return checked(session, request); });
}

}  // namespace foretrain
