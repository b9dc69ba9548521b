#include "validate/row_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/did_you_mean.h"
#include "base/text.h"

namespace foretrain {

namespace {

// Where a column's cell of a row stands; the row's first cell where the table has no such column.
Position place_of(const CsvTable& table, std::size_t row, std::string_view column) {
  return table.position(row, table.column(column).value_or(0));
}

// Gathers what looks odd in a row that can be scored.
class Doubts {
 public:
  Doubts(const CsvTable& table, std::size_t index, const MeasuredRow& row)
      : table_(table), index_(index), row_(row) {}

  void look(const Run& run, const RowScore& score) {
    inferred();
    if (row_.step) rates(run);
    memory(run);
    if (row_.step && !score.broken) against(score);
  }
  std::vector<RowFinding> take() { return std::move(found_); }

 private:
  void add(std::string_view column, std::string message) {
    found_.push_back({RowFindingKind::kDoubtful, place_of(table_, index_, column),
                      fmt::format("{}: {}", column, message)});
  }

  void inferred() {
    for (const std::string& name : row_.inferred)
      if (!table_.column(trim(name)))
        add("assumed", "found " + quoted(name) + ", expected names of columns with ';' between");
  }

  void rates(const Run& run) {
    constexpr double kRounding = 0.02, kTrainingFlops = 6;  // a parameter and token
    const double seconds = row_.step->value, gpus = static_cast<double>(run.gpus);
    const double tokens = static_cast<double>(run.global_batch) * static_cast<double>(run.seq);
    if (row_.tokens_per_s_per_gpu) {
      const double rate = tokens / (seconds * gpus);
      if (std::abs(*row_.tokens_per_s_per_gpu / rate - 1) > kRounding)
        add("tokens_per_s_per_gpu",
            fmt::format("found {:g}, where global_batch * seq / (step_s * gpus) is {:.4g}",
                        *row_.tokens_per_s_per_gpu, rate));
    }
    if (row_.task == "lora" || (!row_.peft.empty() && row_.peft != "none")) return;  // fewer FLOPs
    const double flops = kTrainingFlops * static_cast<double>(active_parameters(run.model)) * tokens;
    const double peak = run.cluster.gpu.rate(row_.precision.value_or(Dtype::kBf16)).value;
    if (peak > 0 && flops / (seconds * gpus) > peak)
      add("step_s",
          fmt::format("found {:g}, shorter than {:.3g} s at the full rate of {} {}: is it in seconds, "
                      "and of a whole step?",
                      seconds, flops / (gpus * peak), run.gpus, run.cluster.gpu.name));
  }

  void memory(const Run& run) {
    if (!row_.peak_memory) return;
    const Bytes has = run.cluster.gpu.memory;
    if (*row_.peak_memory > has)
      add("peak_mem_gib", fmt::format("found {:g}, more than the {:.1f} GiB of a {}",
                                      *row_.peak_memory / gib(1), has / gib(1), run.cluster.gpu.name));
    if (!row_.memory_counter || row_.memory_counter == StatedCounter::kUnknown)
      add("mem_counter",
          "found none, so that memory is compared by what the framework's log usually shows; expected "
          "allocated, reserved or nvidia-smi");
  }

  void against(const RowScore& score) {
    constexpr double kFar = 2;  // times
    const double times = row_.step->value / score.predicted.value;
    if (times < kFar && times > 1 / kFar) return;
    add("step_s",
        fmt::format(
            "found {:g}, {} times the {} that are predicted ({} to {}): look at the unit, the batch and "
            "the plan again",
            row_.step->value, times < 10 ? fmt::format("{:.2g}", times) : fmt::format("{:.0f}", times),
            human_seconds(Seconds(score.predicted.value)), human_seconds(Seconds(score.predicted.low())),
            human_seconds(Seconds(score.predicted.high()))));
  }

  const CsvTable& table_;
  std::size_t index_;
  const MeasuredRow& row_;
  std::vector<RowFinding> found_;
};

}  // namespace

bool RowCheck::faulty() const {
  return std::any_of(findings.begin(), findings.end(), [](const RowFinding& finding) {
    return finding.kind == RowFindingKind::kWrong || finding.kind == RowFindingKind::kLacking;
  });
}

// Names that have to be a preset's, whatever else is wrong.
std::vector<RowFinding> RowChecker::names(const CsvTable& table, std::size_t index,
                                          const MeasuredRow& row) const {
  std::vector<RowFinding> out;
  const auto look = [&](std::string_view column, std::string_view kind, const std::string& word) {
    if (catalog_.meant(kind, word)) return;
    out.push_back({RowFindingKind::kWrong, place_of(table, index, column),
                   fmt::format("{}: found {}, which no preset is called{}", column, quoted(word),
                               suggestion(word, catalog_.names(kind)))});
  };
  if (row.cluster.empty())
    out.push_back({RowFindingKind::kLacking, place_of(table, index, "cluster"),
                   "cluster: found nothing, expected a name"});
  else
    look("cluster", "clusters", row.cluster);
  if (!row.gpu.empty()) look("gpu", "gpus", row.gpu);
  return out;
}

// Each reason of row_run.h, at the cell that it is about; of names nothing, which names() tells.
std::vector<RowFinding> RowChecker::left_out(const CsvTable& table, std::size_t index, const MeasuredRow& row,
                                             const std::string& reason) const {
  const auto at = [&](std::string_view column) { return place_of(table, index, column); };
  std::vector<RowFinding> out;
  if (reason.starts_with("unknown cluster ") || reason.starts_with("unknown gpu ")) return out;
  if (reason.starts_with("refused: ")) {
    const std::string message = reason.substr(std::string_view("refused: ").size());
    const std::string_view first = std::string_view(message).substr(0, message.find(':'));
    out.push_back({RowFindingKind::kWrong, at(first), message});
  } else if (reason.starts_with("unknown ") || reason == "no step_s") {
    if (!row.step && !row.failed())
      out.push_back(
          {RowFindingKind::kLacking, at("step_s"),
           "step_s: found nothing, expected seconds; where the run failed for memory, failure=oom in "
           "notes"});
    for (const std::string_view column : lacking_columns(row))
      out.push_back({RowFindingKind::kLacking, at(column),
                     fmt::format("{}: found nothing, and no run can be predicted without it", column)});
  } else {
    const std::string_view first = std::string_view(reason).substr(0, reason.find(' '));
    out.push_back(
        {RowFindingKind::kLeftOut, at(table.column(first) ? first : "notes"), "left out: " + reason});
  }
  return out;
}

Result<RowCheck> RowChecker::check(const CsvTable& table, std::size_t index, CheckedRow checked) {
  const MeasuredRow& row = checked.row;
  RowCheck out{.id = row.id, .source = row.source, .at = row.at};
  for (Error& fault : checked.faults)
    out.findings.push_back({RowFindingKind::kWrong, std::move(fault.at), std::move(fault.message)});
  if (row.source.empty())
    out.findings.push_back({RowFindingKind::kLacking, place_of(table, index, "source"),
                            "source: found nothing, expected who measured it: rows are counted by it"});
  if (!row.id.empty() && !seen_.emplace(row.source, row.id).second)
    out.findings.push_back(
        {RowFindingKind::kWrong, place_of(table, index, "id"),
         "id: found " + quoted(row.id) + " again, expected a name that its source has once"});
  for (RowFinding& finding : names(table, index, row)) out.findings.push_back(std::move(finding));
  if (!checked.faults.empty()) return out;

  TRY_ASSIGN(auto outcome, runner_.run_of(row));
  if (const auto* skip = std::get_if<Skip>(&outcome)) {
    for (RowFinding& finding : left_out(table, index, row, skip->reason))
      out.findings.push_back(std::move(finding));
    return out;
  }
  TRY_ASSIGN(const RowScore score, scorer_.score(row));
  out.on_time = score.measured.has_value();
  out.on_memory = score.measured_memory.has_value() && out.on_time;
  out.on_verdict = true;
  out.assumed = score.assumed;
  Doubts doubts(table, index, row);
  doubts.look(std::get<RowRun>(outcome).run, score);
  for (RowFinding& finding : doubts.take()) out.findings.push_back(std::move(finding));
  return out;
}

Result<TableCheck> RowChecker::check(const CsvTable& table) {
  TRY_ASSIGN(std::vector<CheckedRow> rows, checked_rows(table));
  TableCheck out{.unknown = unknown_columns(table)};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    TRY_ASSIGN(RowCheck row, check(table, i, std::move(rows[i])));
    out.rows.push_back(std::move(row));
  }
  return out;
}

}  // namespace foretrain
