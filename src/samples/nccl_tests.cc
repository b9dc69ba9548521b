#include "samples/nccl_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <iterator>
#include <string>
#include <utility>

#include "base/field_mark.h"
#include "base/text.h"
#include "samples/nccl_inference.h"
#include "samples/nccl_line.h"
#include "samples/nccl_ranks.h"
#include "samples/nccl_row.h"
#include "samples/sample_table.h"

namespace foretrain {
namespace {

constexpr std::size_t kMaxRanks = 1'000'000;
constexpr double kMinUs = 1e-3;
constexpr double kHundredth = 0.006;  // GB/s are printed to a hundredth

constexpr double kTelling = 0.1;  // GB/s from which on they say something
constexpr std::string_view kBadAlgbw = "algbw is not size / time", kBadBusbw = "busbw does not fit";

bool near(double found, double expected, double rounding) {
  return std::abs(found - expected) <= rounding * expected + kHundredth;
}

// Why a row is not a sample; empty where it is one.
std::string reason_against(const NcclRow& row, CollectiveKind kind, std::int64_t ranks) {
  if (row.size == 0) return "no bytes";
  if (!row.time.is_known || row.time.value < kMinUs) return "not timed";
  if (row.wrong.is_known && row.wrong.value > 0) return "wrong results";
  if (!row.algbw.is_known || !row.busbw.is_known) return "";
  const double base = row.size / row.time.value / 1e3, factor = bus_factor(kind, ranks);
  const double rounding = row.time.rounding + row.algbw.rounding;
  const bool of_parts = kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter;
  if (of_parts && row.algbw.value == row.busbw.value && near(row.algbw.value, base * factor, rounding))
    return "";
  if (!near(row.algbw.value, base, rounding)) return std::string(kBadAlgbw);
  if (!near(row.busbw.value, base * factor, row.time.rounding + row.busbw.rounding))
    return std::string(kBadBusbw);
  return "";
}

// "[0]  1048576 ... -1[0]  1626.5 ...": a launcher that marks each piece of output marks the pieces of a row. All marks but
// the line's own are blanked; empty: there are no others.
std::string without_inner_marks(std::string_view line) {
  const std::size_t end = line.find(']');
  if (!line.starts_with('[') || end == std::string_view::npos) return {};
  const std::string_view mark = line.substr(0, end + 1);
  std::string plain;
  for (std::size_t at = line.find(mark, 1); at != std::string_view::npos; at = line.find(mark, at + 1)) {
    if (plain.empty()) plain = line;
    plain.replace(at, mark.size(), mark.size(), ' ');
  }
  return plain;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file, const NcclTestsOptions& options)
      : text_(text), file_(file), options_(options) {}

  Result<NcclTestsImport> read() {
    while (!text_.empty()) {
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      ++line_;
      std::string_view line = text_.substr(0, end);
      if (std::string plain = without_inner_marks(line); !plain.empty())
        line = plain_lines_.emplace_back(std::move(plain));
      TRY(read_line(nccl_line(line)));
      text_.remove_prefix(std::min(end + 1, text_.size()));
    }
    TRY(end_table());
    if (result_.tables.empty())
      return fail(
          "found no table, expected the output of nccl-tests with its header line ('# size count ...')",
          Position{file_, 1, 1});
    return std::move(result_);
  }

 private:
  Position here(int column = 1) const { return {file_, line_, column}; }

  Result<void> read_line(const NcclLine& line) {
    if (line.text.empty()) return {};
    const std::vector<NcclWord> words = line.words();
    if (words.empty()) return {};
    if (columns_ && !line.is_comment()) {
      TRY_ASSIGN(const bool is_row, read_row(line));
      if (is_row) return {};
    }
    if (line.text.find("Collective test starting") != std::string_view::npos) {
      TRY(end_table());
      next_test_ = nccl_test_in(line.text);
      if (!next_test_) next_test_ = NcclTest{std::string(words.back().text), {}};
      return {};
    }
    // Any of these may have lost its '#' where a log was pasted.
    if (words[0].text == "nThread" || words[0].text == "nThread:") return start_run();
    if (auto rank = nccl_rank(words)) return add_rank(*std::move(rank), words[1].column);
    if (auto columns = nccl_columns(words)) return start_table(*std::move(columns), line.column);
    if (line.text.find("Out of bounds values") != std::string_view::npos ||
        line.text.find("Avg bus bandwidth") != std::string_view::npos)
      return end_table();
    if (line.text.find("test concluded") != std::string_view::npos) return {};
    // A command that is echoed.
    if (const auto test = nccl_test_in(line.text)) next_test_ = test;
    return {};
  }

  Result<void> start_run() {
    TRY(end_table());
    test_ = std::exchange(next_test_, std::nullopt);
    ranks_.clear();
    has_table_ = false;
    return {};
  }

  Result<void> add_rank(NcclRank rank, int column) {
    // The ranks of a table are those since the one before.
    TRY(end_table());
    if (std::exchange(ranks_had_table_, false)) ranks_.clear();
    if (ranks_.size() >= kMaxRanks) return fail("found more than 10^6 ranks, expected fewer", here(column));
    if (!ranks_.empty() && ranks_.back().rank == rank.rank)
      return fail(fmt::format("found rank {} twice, on {} and {}, expected one run a table: were the tests "
                              "built without MPI?",
                              rank.rank, quoted(ranks_.back().host), quoted(rank.host)),
                  here(column));
    ranks_.push_back(std::move(rank));
    return {};
  }

  Result<void> start_table(NcclColumns columns, int column) {
    TRY(end_table());
    NcclTable table;
    table.file = file_;
    table.line = line_;
    columns_ = std::move(columns);
    header_column_ = column;
    ranks_had_table_ = true;
    rows_.clear();
    result_.tables.push_back(std::move(table));
    return {};
  }

  // What was timed: by name, or by the figures.
  Result<std::optional<CollectiveKind>> find_kind(NcclTable& table, const Position& at) {
    // The command may be echoed after the run's first lines, or those be missing.
    if (next_test_ && (!test_ || has_table_)) test_ = std::exchange(next_test_, std::nullopt);
    has_table_ = true;
    if (test_) {
      table.test = test_->name;
      return test_->kind;
    }
    std::optional<CollectiveKind> kind =
        options_.collective ? options_.collective : collective_in_file_name(file_);
    if (!kind && (kind = inferred_collective(rows_)))
      table.assumed.push_back(fmt::format("{} by its columns", name(*kind)));
    if (!kind)
      return fail(fmt::format("found no name of the test in the log or the file's name, expected one such as "
                              "all_reduce_perf, or {} NAME",
                              marked("collective")),
                  at);
    table.test = name(*kind);
    return kind;
  }

  // Who took part: by the lines of ranks, or by the figures.
  Result<NcclLayout> find_layout(CollectiveKind kind, NcclTable& table, const Position& at) const {
    const auto range = inferred_ranks(rows_, kind);
    if (is_complete(ranks_)) return nccl_layout(ranks_, at);
    if (ranks_.empty() && options_.ranks > 0)
      return NcclLayout{options_.ranks,
                        options_.ranks_per_node == 0 ? options_.ranks : options_.ranks_per_node, ""};
    if (!range)
      return ranks_.empty()
                 ? fail(fmt::format(
                            "found no lines '# Rank ... on HOST' before this table, expected them or {} "
                            "and {}",
                            marked("ranks"), marked("ranks_per_node")),
                        at)
                 : nccl_layout(ranks_, at);
    NcclLayout layout = partial_layout(ranks_);
    std::string against;
    if (layout.ranks > 0 && !range->holds(layout.ranks)) {
      against = fmt::format(" (its lines of ranks end at {})", layout.ranks - 1);
      layout.ranks = 0;
    }
    if (layout.ranks == 0) layout.ranks = roundest(*range);
    if (options_.ranks_per_node > 0) layout.ranks_per_node = options_.ranks_per_node;
    if (layout.ranks_per_node == 0 ||
        (options_.ranks_per_node == 0 && layout.ranks % layout.ranks_per_node != 0))
      layout.ranks_per_node = usual_node(layout.ranks);
    if (layout.ranks % layout.ranks_per_node != 0)
      return fail(fmt::format("found {} ranks by its figures and {} a node, expected a divisor", layout.ranks,
                              layout.ranks_per_node),
                  at);
    table.assumed.push_back(
        fmt::format("{} ranks by its figures{}, {} a node", layout.ranks, against, layout.ranks_per_node));
    return layout;
  }

  // A table that ended: rows it must have, and some that agree.
  Result<void> end_table() {
    if (!columns_) return {};
    NcclTable& table = result_.tables.back();
    const Position at{file_, table.line, header_column_};
    if (!half_row_.empty())
      return fail("found a row that other output breaks off, expected its times", half_at_);
    if (rows_.empty()) return fail("found a header and no rows, expected sizes and times", at);
    table.rows = rows_.size();
    TRY_ASSIGN(const std::optional<CollectiveKind> kind, find_kind(table, at));
    kind_ = kind.value_or(CollectiveKind::kAllReduce);
    TRY_ASSIGN(layout_, find_layout(kind_, table, at));
    table.skipped = layout_.skipped;
    if (!kind && table.skipped.empty()) table.skipped = "not a collective of ours";
    if (columns_->is_host_time && table.skipped.empty()) table.skipped = "times of the host (-C)";
    table.layout = !layout_.skipped.empty()
                       ? fmt::format("{} ranks", layout_.ranks)
                       : fmt::format("{}x{}", layout_.ranks / layout_.ranks_per_node, layout_.ranks_per_node);
    if (table.skipped.empty()) TRY(add_samples(table, at));
    columns_.reset();
    return {};
  }

  Result<void> add_samples(NcclTable& table, const Position& at) {
    std::size_t telling = 0;  // rows whose GB/s have digits enough
    std::size_t bad_algbw = 0, bad_busbw = 0;
    double ratio = 0;  // busbw / algbw of the last telling row
    for (const NcclRow& row : rows_) {
      const std::string reason = reason_against(row, kind_, layout_.ranks);
      if (row.algbw.value >= kTelling) {
        ++telling;
        ratio = row.busbw.value / row.algbw.value;
        bad_algbw += reason == kBadAlgbw;
        bad_busbw += reason == kBadBusbw;
      }
      if (reason.empty())
        TRY(add_sample(row, table));
      else
        ++table.rejected[reason];
    }
    if (2 * (bad_algbw + bad_busbw) <= telling) return {};
    if (bad_algbw >= bad_busbw)
      return fail("found algbw that is not size / time in most rows, expected it to be", at);
    return fail(
        fmt::format("found busbw / algbw of {:.3g}, expected {:.3g} for {} of {} ranks: is it another "
                    "collective, or are ranks missing?",
                    ratio, bus_factor(kind_, layout_.ranks), name(kind_), layout_.ranks),
        at);
  }

  Result<void> add_sample(const NcclRow& row, NcclTable& table) {
    CollectiveSample sample;
    sample.kind = kind_;
    sample.bytes = Bytes(row.size);
    sample.ranks = layout_.ranks;
    sample.ranks_per_node = layout_.ranks_per_node;
    sample.seconds = microseconds(row.time.value);
    sample.spread = columns_->cv > 0 ? std::min(row.cv.value / 100, 100.0) : 0;
    sample.source = source_label(file_name(file_));
    TRY(check_sample_count(result_.samples.size() + 1, file_));
    result_.samples.push_back(std::move(sample));
    ++table.samples;
    return {};
  }

  // Sizes in front, or as many words as a row has and most of them numbers: one that is garbled is a row,
  // too.
  bool is_row(const std::vector<NcclWord>& words) const {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const std::string_view first = words[0].text;
    if (std::all_of(first.begin(), first.end(), is_digit))
      return words.size() == 1 || is_digit(words[1].text.front());
    const auto numbers = std::count_if(
        words.begin(), words.end(), [](const NcclWord& word) { return parse_number(word.text).has_value(); });
    return words.size() == columns_->count && 2 * static_cast<std::size_t>(numbers) > words.size();
  }

  Result<bool> read_row(const NcclLine& line) {
    std::vector<NcclWord> words = line.words();
    const std::size_t preamble = columns_->time;
    if (!half_row_.empty()) {
      // The second part of a row: the times alone.
      if (words.size() != columns_->count - preamble || !parse_number(words[0].text)) return false;
      words.insert(words.begin(), half_row_.begin(), half_row_.end());
      half_row_.clear();
    } else {
      if (!is_row(words)) return false;
      // NCCL writes into the same line, between the first part of a row and its times, or puts a line between them.
      const bool is_cut = words.size() > preamble && line.text.find("NCCL ") != std::string_view::npos;
      if (is_cut || words.size() == preamble) {
        half_row_.assign(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(preamble));
        half_at_ = here(words[0].column);
        return true;
      }
    }
    const auto blank = nccl_blank_cells(words, *columns_);
    if (!blank)
      return fail(fmt::format("found a row of {} words, expected {} as in the header of line {}",
                              words.size(), columns_->count, result_.tables.back().line),
                  here(words.size() > columns_->count ? words[columns_->count].column : words[0].column));
    TRY_ASSIGN(NcclRow row, nccl_row(words, *columns_, *blank, file_, line_));
    rows_.push_back(std::move(row));
    return true;
  }

  std::string_view text_;
  const std::string& file_;
  const NcclTestsOptions& options_;
  int line_ = 0;
  std::deque<std::string> plain_lines_;  // rows without their marks, which words of half a row still name
  NcclTestsImport result_;

  // Of the run: the test it names, its ranks; the test that was named since, for the next run.
  std::optional<NcclTest> test_, next_test_;
  std::vector<NcclRank> ranks_;
  bool has_table_ = false, ranks_had_table_ = false;

  // Of the table being read.
  std::optional<NcclColumns> columns_;
  std::vector<NcclRow> rows_;
  CollectiveKind kind_ = CollectiveKind::kAllReduce;
  NcclLayout layout_;
  int header_column_ = 1;
  std::vector<NcclWord> half_row_;
  Position half_at_;
};

}  // namespace

Result<NcclTestsImport> parse_nccl_tests(std::string_view text, const std::string& file_name,
                                         const NcclTestsOptions& options) {
  return Reader(text, file_name, options).read();
}

Result<NcclTestsImport> import_nccl_tests(const std::vector<Source>& logs, const NcclTestsOptions& options) {
  NcclTestsImport all;
  std::map<std::string, std::size_t> named;
  for (const Source& log : logs) ++named[file_name(log.name)];
  for (const Source& log : logs) {
    TRY_ASSIGN(NcclTestsImport one, parse_nccl_tests(log.text, log.name, options));
    TRY(check_sample_count(all.samples.size() + one.samples.size(), log.name));
    if (named[file_name(log.name)] > 1)
      for (CollectiveSample& sample : one.samples) sample.source = source_label(log.name);
    std::move(one.samples.begin(), one.samples.end(), std::back_inserter(all.samples));
    std::move(one.tables.begin(), one.tables.end(), std::back_inserter(all.tables));
  }
  if (all.samples.empty()) {
    const NcclTable& first = all.tables.front();
    std::string why = first.skipped;
    if (why.empty())
      for (const auto& [reason, count] : first.rejected) why += (why.empty() ? "" : ", ") + reason;
    return fail("found no row that can be a sample: " + why, Position{first.file, first.line, 1});
  }
  return all;
}

std::string import_text(const NcclTestsImport& imported) {
  std::vector<std::string> places;
  std::size_t width = 0, test_width = 0, layout_width = 0;
  for (const NcclTable& table : imported.tables) {
    places.push_back(fmt::format("{}:{}", printable(table.file), table.line));
    width = std::max(width, places.back().size());
    test_width = std::max(test_width, table.test.size());
    layout_width = std::max(layout_width, table.layout.size());
  }
  const auto count = [](std::size_t n) { return with_commas(static_cast<std::int64_t>(n)); };
  std::string text;
  for (std::size_t i = 0; i < imported.tables.size(); ++i) {
    const NcclTable& table = imported.tables[i];
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>5} rows  {:>5} samples", places[i], width,
                        printable(table.test), test_width, table.layout, layout_width, count(table.rows),
                        count(table.samples));
    if (!table.skipped.empty()) text += "  skipped: " + table.skipped;
    if (!table.assumed.empty()) text += "  assumed: " + join(table.assumed, "; ");
    for (const auto& [reason, rows] : table.rejected) text += fmt::format("  {} {}", count(rows), reason);
    text += '\n';
  }
  return text + fmt::format("{} samples of collectives, {} tables\n", count(imported.samples.size()),
                            imported.tables.size());
}

}  // namespace foretrain
