// What somebody who adds a row of a measured run wants to know before handing it in: what is wrong and where, what the
// row lacks to be scored, what looks odd beside its other figures, and what the program will assume.
#pragma once

#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/csv.h"
#include "spec/catalog.h"
#include "validate/row_score.h"

namespace foretrain {

// wrong: a cell that does not read, or a run that cannot be; lacking: a cell without which nothing can be predicted;
// left_out: by no fault of the row; doubtful: it is scored, but look again.
enum class RowFindingKind : unsigned char { kWrong, kLacking, kLeftOut, kDoubtful };
inline constexpr std::array<std::string_view, 4> kRowFindingNames = {"wrong", "lacking", "left_out",
                                                                     "doubtful"};

struct RowFinding {
  RowFindingKind kind = RowFindingKind::kWrong;
  Position at;  // of the cell, or of the row
  std::string message;
};

struct RowCheck {
  std::string id, source;
  Position at;
  std::vector<RowFinding> findings;
  bool on_time = false, on_memory = false, on_verdict = false;  // what it is scored on
  std::vector<std::string> assumed;

  bool scored() const { return on_time || on_memory || on_verdict; }
  // Whoever wrote it has something to mend.
  bool faulty() const;
};

struct TableCheck {
  std::vector<RowCheck> rows;
  std::vector<std::string> unknown;  // columns that nobody knows, as they are spelt
};

// Knows the rows of the tables that it has seen, so that one that stands twice is told.
class RowChecker {
 public:
  RowChecker(const Catalog& catalog, const ProfileStore& store)
      : catalog_(catalog), runner_(catalog), scorer_(catalog, Against::kMedian, &store) {}

  // An error is about the table as a whole, or a preset.
  Result<TableCheck> check(const CsvTable& table);

 private:
  Result<RowCheck> check(const CsvTable& table, std::size_t index, CheckedRow row);
  std::vector<RowFinding> names(const CsvTable& table, std::size_t index, const MeasuredRow& row) const;
  std::vector<RowFinding> left_out(const CsvTable& table, std::size_t index, const MeasuredRow& row,
                                   const std::string& reason) const;

  Catalog catalog_;
  RowRunner runner_;
  RowScorer scorer_;
  std::set<std::pair<std::string, std::string>> seen_;  // source and id
};

}  // namespace foretrain
