#include "validate/measured_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "base/text.h"
#include "spec/choice.h"

namespace foretrain {

namespace {

constexpr std::size_t kMaxTableBytes = 16u << 20;  // 80,000 rows of the usual length

using Row = MeasuredRow;

struct TextColumn {
  std::string_view name;
  std::string Row::*field;
};
constexpr TextColumn kTexts[] = {{"id", &Row::id},   {"source", &Row::source}, {"cluster", &Row::cluster},
                                 {"gpu", &Row::gpu}, {"model", &Row::model},   {"stack", &Row::stack}};
constexpr TextColumn kFurtherTexts[] = {{"task", &Row::task},
                                        {"peft", &Row::peft},
                                        {"lora_targets", &Row::lora_targets},
                                        {"pp_layout", &Row::pp_layout},
                                        {"cp_type", &Row::cp_type},
                                        {"dispatcher", &Row::dispatcher},
                                        {"routing", &Row::routing},
                                        {"recompute_modules", &Row::recompute_modules},
                                        {"offload", &Row::offload},
                                        {"cuda_graph", &Row::cuda_graph},
                                        {"dp_overlap", &Row::dp_overlap},
                                        {"grad_reduce_dtype", &Row::grad_reduce_dtype},
                                        {"optimizer", &Row::optimizer},
                                        {"opt_state", &Row::opt_state},
                                        {"sliding_window", &Row::sliding_window},
                                        {"group", &Row::group},
                                        {"fp8_recipe", &Row::fp8_recipe},
                                        {"fp8_scope", &Row::fp8_scope},
                                        {"bf16_layers", &Row::bf16_layers},
                                        {"pp_overlap", &Row::pp_overlap}};

struct IntegerColumn {
  std::string_view name;
  std::optional<std::int64_t> Row::*field;
  std::int64_t low, high;
};
constexpr std::int64_t kMaxDegree = 1'000'000;
constexpr std::int64_t kMaxCount = 1'000'000'000;
constexpr IntegerColumn kIntegers[] = {
    {"gpus", &Row::gpus, 1, 10'000'000},
    {"gpus_per_node", &Row::gpus_per_node, 1, kMaxDegree},
    {"layers", &Row::layers, 1, kMaxCount},
    {"hidden", &Row::hidden, 1, kMaxCount},
    {"heads", &Row::heads, 1, kMaxCount},
    {"kv_heads", &Row::kv_heads, 1, kMaxCount},
    {"head_dim", &Row::head_dim, 1, kMaxCount},
    {"ffn", &Row::ffn, 0, kMaxCount},
    {"vocab", &Row::vocab, 1, kMaxCount},
    {"seq", &Row::seq, 1, 100'000'000},
    {"experts", &Row::experts, 0, kMaxCount},
    {"top_k", &Row::top_k, 0, kMaxCount},
    {"expert_ffn", &Row::expert_ffn, 0, kMaxCount},
    {"shared_experts", &Row::shared_experts, 0, kMaxCount},
    {"shared_expert_ffn", &Row::shared_expert_ffn, 0, kMaxCount},
    {"dense_layers", &Row::dense_layers, 0, kMaxCount},
    {"tp", &Row::tp, 1, kMaxDegree},
    {"pp", &Row::pp, 1, kMaxDegree},
    {"vpp", &Row::vpp, 1, kMaxDegree},
    {"cp", &Row::cp, 1, kMaxDegree},
    {"ep", &Row::ep, 1, kMaxDegree},
    {"dp", &Row::dp, 1, kMaxDegree},
    {"zero", &Row::zero, 0, 3},
    {"micro_batch", &Row::micro_batch, 1, kMaxDegree},
    {"global_batch", &Row::global_batch, 1, kMaxCount},
};

constexpr IntegerColumn kFurtherIntegers[] = {
    {"etp", &Row::etp, 1, kMaxDegree},
    {"mtp", &Row::mtp, 0, kMaxCount},
    {"lora_rank", &Row::lora_rank, 1, kMaxCount},
    {"recompute_layers", &Row::recompute_layers, 0, kMaxCount},
};
struct FlagColumn {
  std::string_view name;
  std::optional<bool> Row::*field;
};
constexpr FlagColumn kFurtherFlags[] = {{"packed", &Row::packed},
                                        {"ep_overlap", &Row::ep_overlap},
                                        {"shared_overlap", &Row::shared_overlap},
                                        {"tp_overlap", &Row::tp_overlap},
                                        {"fp8_params", &Row::fp8_params}};

// Read one by one, in this order.
constexpr std::string_view kOthers[] = {"ffn_type",
                                        "norm",
                                        "positions",
                                        "tied",
                                        "sp",
                                        "precision",
                                        "recompute",
                                        "attention",
                                        "schedule",
                                        "step_s",
                                        "tokens_per_s_per_gpu",
                                        "peak_mem_gib",
                                        "mem_counter",
                                        "assumed",
                                        "notes"};
// Of the format, but nothing that a prediction asks for.
constexpr std::string_view kUnused[] = {"software", "recipe", "recipe_match", "filled", "evidence", "split"};

bool is_column(std::string_view name) {
  const auto named = [&](const auto& columns) {
    return std::any_of(std::begin(columns), std::end(columns),
                       [&](const auto& column) { return column.name == name; });
  };
  const auto listed = [&](std::span<const std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return named(kTexts) || named(kFurtherTexts) || named(kIntegers) || named(kFurtherIntegers) ||
         named(kFurtherFlags) || listed(kOthers) || listed(kUnused);
}

// Finds each column's place once, then reads cells by it. What is wrong with cells is gathered, so that somebody who
// writes a table is told all of it.
class RowReader {
 public:
  explicit RowReader(const CsvTable& table) : table_(table) {}

  Result<void> find_columns() {
    for (const TextColumn& column : kTexts) find(column.name);
    for (const IntegerColumn& column : kIntegers) find(column.name);
    for (const std::string_view name : kOthers) find(name);
    for (const TextColumn& column : kFurtherTexts) places_.push_back(table_.column(column.name));
    for (const IntegerColumn& column : kFurtherIntegers) places_.push_back(table_.column(column.name));
    for (const FlagColumn& column : kFurtherFlags) places_.push_back(table_.column(column.name));
    if (missing_.empty()) return {};
    return fail(fmt::format("not a table of measured runs: {}", missing_text()), {table_.file(), 1, 1});
  }

  CheckedRow read(std::size_t row) {
    row_ = row;
    next_ = 0;
    faults_.clear();
    MeasuredRow out;
    out.at = table_.position(row, 0);
    for (const TextColumn& column : kTexts) {
      out.*column.field = next_cell();
      if (next_ == 1 && out.id.empty()) refuse("found no name");  // the first column read
    }
    for (const IntegerColumn& column : kIntegers) integer(column.low, column.high, out.*column.field);
    word(kMlpNames, out.ffn_type);
    word(kNormNames, out.norm);
    word(kPositionsNames, out.positions);
    flag(out.tied);
    flag(out.sp);
    word(kDtypeNames, out.precision);
    word(kRecomputeNames, out.recompute);
    word(kAttentionNames, out.attention);
    word(kRowScheduleNames, out.schedule);
    std::optional<double> step_s, peak_gib;
    number(step_s);
    number(out.tokens_per_s_per_gpu);
    number(peak_gib);
    if (step_s) out.step = Seconds(*step_s);
    if (peak_gib) out.peak_memory = gib(*peak_gib);
    word(kStatedCounterNames, out.memory_counter);
    if (const std::string_view inferred = next_cell(); !inferred.empty())
      for (const std::string_view name : split(inferred, ';')) out.inferred.emplace_back(name);
    out.notes = Notes(next_cell());
    for (const TextColumn& column : kFurtherTexts) out.*column.field = next_cell();
    for (const IntegerColumn& column : kFurtherIntegers) integer(column.low, column.high, out.*column.field);
    for (const FlagColumn& column : kFurtherFlags) flag(out.*column.field);
    return {std::move(out), std::move(faults_)};
  }

 private:
  void find(std::string_view name) {
    const auto column = table_.column(name);
    if (!column) missing_.emplace_back(name);
    places_.push_back(column);
  }
  // Where enough of the format is there, the missing columns are the news.
  std::string missing_text() const {
    if (!table_.column("id") || !table_.column("step_s"))
      return fmt::format("column '{}' is missing; expected the 46 columns of the format", missing_.front());
    return missing_.size() == 1 ? fmt::format("column '{}' is missing", missing_.front())
                                : fmt::format("columns '{}' are missing", join(missing_, "', '"));
  }

  // Empty where the table lacks the column.
  std::string_view next_cell() {
    const auto column = places_[next_++];
    return column ? table_.cell(row_, *column) : std::string_view();
  }

  // The cell that was read last is wrong.
  void refuse(std::string_view message) {
    const std::size_t column = *places_[next_ - 1];
    faults_.push_back(
        {fmt::format("{}: {}", table_.columns()[column], message), table_.position(row_, column)});
  }

  void integer(std::int64_t low, std::int64_t high, std::optional<std::int64_t>& out) {
    const std::string_view cell = next_cell();
    if (cell.empty()) return;
    out = parse_integer(cell);
    if (out && *out >= low && *out <= high) return;
    out.reset();
    refuse(fmt::format("found {}, expected an integer from {} to {}", quoted(cell), low, high));
  }
  void number(std::optional<double>& out) {
    const std::string_view cell = next_cell();
    if (cell.empty()) return;
    out = parse_number(cell);
    if (out && *out > 0 && *out <= 1e15) return;
    out.reset();
    refuse(fmt::format("found {}, expected a number above 0", quoted(cell)));
  }
  void flag(std::optional<bool>& out) {
    const std::string_view cell = next_cell();
    if (cell == "0" || cell == "1")
      out = cell == "1";
    else if (!cell.empty())
      refuse(fmt::format("found {}, expected 0 or 1", quoted(cell)));
  }
  template <class E>
  void word(std::span<const std::string_view> names, std::optional<E>& out) {
    const std::string_view cell = next_cell();
    if (cell.empty()) return;
    if (auto choice = parse_choice<E>(cell, names))
      out = *choice;
    else
      refuse(choice.error().message);
  }

  const CsvTable& table_;
  std::vector<std::optional<std::size_t>> places_;  // in the order of find_columns, which read() follows
  std::vector<std::string> missing_;
  std::vector<Error> faults_;  // of the row that is read
  std::size_t row_ = 0;
  std::size_t next_ = 0;
};

bool is_key(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

Notes::Notes(std::string_view cell) {
  while (!cell.empty()) {
    const std::size_t end = cell.find("; ");
    const std::string_view item = trim(cell.substr(0, end));
    cell.remove_prefix(end == std::string_view::npos ? cell.size() : end + 2);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      texts_.emplace_back(item);
      continue;
    }
    const std::string_view key = item.substr(0, equals);
    if (is_key(key) && !find(key)) items_.emplace_back(key, item.substr(equals + 1));
  }
}

bool Notes::has(std::string_view text) const {
  return std::find(texts_.begin(), texts_.end(), text) != texts_.end();
}

bool Notes::starts(std::string_view text) const {
  return std::any_of(texts_.begin(), texts_.end(),
                     [&](const std::string& item) { return item.starts_with(text); });
}

std::optional<std::string_view> Notes::word(std::string_view key) const {
  const auto value = find(key);
  if (!value) return std::nullopt;
  return value->substr(0, value->find(' '));
}

std::optional<std::string_view> Notes::find(std::string_view key) const {
  for (const auto& [name, value] : items_)
    if (name == key) return value;
  return std::nullopt;
}

Result<std::vector<CheckedRow>> checked_rows(const CsvTable& table) {
  RowReader reader(table);
  TRY(reader.find_columns());
  std::vector<CheckedRow> rows;
  rows.reserve(table.rows());
  for (std::size_t row = 0; row < table.rows(); ++row) rows.push_back(reader.read(row));
  return rows;
}

Result<std::vector<MeasuredRow>> measured_rows(const CsvTable& table) {
  TRY_ASSIGN(std::vector<CheckedRow> checked, checked_rows(table));
  std::vector<MeasuredRow> rows;
  rows.reserve(checked.size());
  for (CheckedRow& row : checked) {
    if (!row.faults.empty()) return tl::unexpected(std::move(row.faults.front()));
    rows.push_back(std::move(row.row));
  }
  return rows;
}

std::vector<std::string> unknown_columns(const CsvTable& table) {
  std::vector<std::string> unknown;
  for (const std::string& column : table.columns())
    if (!is_column(column)) unknown.push_back(column);
  return unknown;
}

Result<Sources> measured_sources(const Files& files, const std::string& file_or_folder) {
  TRY_ASSIGN(Sources tables, read_sources(files, file_or_folder, ".csv", kMaxTableBytes));
  if (tables.files.empty()) return fail("found no .csv file in the folder", Position{file_or_folder});
  return tables;
}

Result<std::vector<MeasuredRow>> measured_rows_of(Sources tables, std::vector<std::string>& notes) {
  std::vector<MeasuredRow> rows;
  for (Source& source : tables.files) {
    TRY_ASSIGN(const CsvTable table, CsvTable::parse(std::move(source.text), source.name));
    std::vector<std::string> unknown = unknown_columns(table);
    for (std::string& column : unknown) column = quoted(column);
    TRY_ASSIGN(std::vector<MeasuredRow> more, measured_rows(table));
    std::move(more.begin(), more.end(), std::back_inserter(rows));
    if (!unknown.empty())
      notes.push_back(
          fmt::format("{}: columns passed over: {}", printable(table.file()), join(unknown, ", ")));
  }
  return rows;
}

Result<std::vector<MeasuredRow>> read_measured_rows(const Files& files, const std::string& file_or_folder) {
  TRY_ASSIGN(Sources tables, measured_sources(files, file_or_folder));
  std::vector<std::string> notes;
  return measured_rows_of(std::move(tables), notes);
}

}  // namespace foretrain
