// One row of a published table of operators or exchanges being read: its cells by the names of the layout's columns, and where
// the samples that are made of it go. A layout is told by the names of its columns (samples/operator_tables.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "samples/operator_tables.h"
#include "samples/sample_table.h"

namespace foretrain {

inline constexpr double kMaxTableUs = 1e12;
inline constexpr std::string_view kSimumax = "simumax";  // the group of its samples

// Loops shorter than this are bursts, or have followed upon others so that nobody knows their clock; from here on they
// have settled (fit/carried_clock.h).
inline constexpr double kSettlingSeconds = 0.05;

class TableRow {
 public:
  TableRow(const SampleTable& table, std::span<const std::string_view> names, OperatorTable& report,
           OperatorTablesImport& imported)
      : table_(table), names_(names), report_(report), imported_(imported) {}

  void at(std::size_t row) { row_ = row; }
  std::string_view text(std::string_view column) const { return table_.text(row_, at(column)); }
  Position position(std::string_view column) const { return table_.position(row_, at(column)); }

  // These want the cell filled.
  Result<std::int64_t> whole(std::string_view column, std::int64_t low, std::int64_t high) const;
  Result<double> number(std::string_view column, double high) const;          // above 0
  Result<double> number_or_none(std::string_view column, double high) const;  // nothing is 0
  Result<std::size_t> choice(std::string_view column, std::span<const std::string_view> words) const;
  Result<std::string> gpu(std::string_view column) const;  // a file is named after it

  void reject(const std::string& reason) { ++report_.rejected[reason]; }
  Result<void> add(const std::string& gpu, CollectiveSample sample);
  Result<void> add(const std::string& gpu, Sample sample);
  CastTimes& casts(const std::string& gpu, const std::string& library) {
    return imported_.casts[gpu][library];
  }

 private:
  int at(std::string_view column) const;  // its place, one of the layout's names
  template <class T>
  Result<T> filled(const Result<std::optional<T>>& cell, std::string_view column,
                   std::string_view expected) const;

  const SampleTable& table_;
  std::span<const std::string_view> names_;
  OperatorTable& report_;
  OperatorTablesImport& imported_;
  std::size_t row_ = 0;
};

struct TableLayout {
  std::string_view name;
  std::span<const std::string_view> columns;
  Result<void> (*read)(TableRow&);
};
extern const std::span<const TableLayout> kAiconfiguratorLayouts;  // samples/aiconfigurator_tables.cc
extern const std::span<const TableLayout> kSimumaxLayouts;         // samples/simumax_tables.cc

}  // namespace foretrain
