#include "samples/sample.h"

#include <fmt/format.h>

#include <array>

#include "base/check.h"
#include "operators/operator_text.h"
#include "samples/aliases.h"
#include "samples/sample_table.h"

namespace foretrain {
namespace {

enum Column {
  kOperator,
  kImpl,
  kPass,
  kDtype,
  kDims,
  kUs,
  kSpread,
  kHostUs,
  kLaunches,
  kClock,
  kPower,
  kLimit,
  kThrottle,
  kShare,
  kLoop,
  kGroup,
  kColumnCount
};
constexpr std::array<std::string_view, kColumnCount> kColumnNames = {
    "operator", "impl",  "pass",  "dtype", "dims",     "us",    "spread", "host_us",
    "launches", "clock", "power", "limit", "throttle", "share", "loop_s", "group"};
constexpr int kRequired[] = {kOperator, kImpl, kPass, kDims, kUs};

constexpr double kMaxUs = 1e12;  // eleven days

Result<Operator> read_operator(const SampleTable& table, std::size_t row) {
  const std::string_view dtype = table.text(row, kDtype);
  const OperatorPositions at{table.position(row, kOperator), table.position(row, kImpl),
                             table.position(row, kPass), table.position(row, kDtype),
                             table.position(row, kDims)};
  const OperatorWords words = plain_words(table.text(row, kOperator), table.text(row, kImpl), dtype);
  return parse_operator(words.kind, words.impl, table.text(row, kPass), words.dtype,
                        plain_sizes(words.kind, table.text(row, kDims)), at);
}

Result<Sample> read_sample(const SampleTable& table, std::size_t row) {
  Sample sample;
  TRY_ASSIGN(sample.op, read_operator(table, row));
  TRY_ASSIGN(const auto us, table.number(row, kUs, 0, false, kMaxUs));
  if (!us) return fail("us: found nothing, expected a time in microseconds", table.position(row, kUs));
  sample.us = *us;
  TRY_ASSIGN(const auto spread, table.number(row, kSpread, 0, true, 100));
  sample.spread = spread.value_or(0);
  TRY_ASSIGN(sample.host_us, table.number(row, kHostUs, 0, true, kMaxUs));
  TRY_ASSIGN(sample.clock_mhz, table.number(row, kClock, 1, true, 1e5));
  TRY_ASSIGN(sample.power_w, table.number(row, kPower, 0, true, 1e5));
  TRY_ASSIGN(sample.limit_w, table.number(row, kLimit, 0, false, 1e5));
  TRY_ASSIGN(sample.product_share, table.number(row, kShare, 0, true, 1));
  TRY_ASSIGN(sample.loop_s, table.number(row, kLoop, 0, true, 1e9));
  sample.throttle = std::string(table.text(row, kThrottle));
  TRY_ASSIGN(const auto launches, table.whole(row, kLaunches, 1, 1'000'000));
  if (launches) sample.op.launches = static_cast<std::int32_t>(*launches);
  sample.group = std::string(table.text(row, kGroup));
  return sample;
}

std::string cell_of(const std::optional<double>& number) { return number ? fmt::format("{}", *number) : ""; }

}  // namespace

std::string operator_label(const Operator& op) {
  return fmt::format("{} {} {} {}", name(op.kind), impl_text(op), name(op.pass), name(op.dtype));
}

Result<std::vector<Sample>> parse_samples(std::string text, const std::string& file_name) {
  TRY_ASSIGN(const SampleTable table,
             SampleTable::parse(std::move(text), file_name, kColumnNames, kRequired));
  std::vector<Sample> samples;
  samples.reserve(table.rows());
  for (std::size_t i = 0; i < table.rows(); ++i) {
    TRY_ASSIGN(Sample sample, read_sample(table, i));
    sample.source = file_name;
    samples.push_back(std::move(sample));
  }
  return samples;
}

Result<std::vector<Sample>> parse_samples(Sources tables) {
  return parse_sample_tables(
      std::move(tables), kColumnNames[kOperator],
      [](std::string text, const std::string& file) { return parse_samples(std::move(text), file); });
}

Result<std::vector<Sample>> read_samples(const Files& files, const std::string& path) {
  TRY_ASSIGN(Sources tables, sample_sources(files, path));
  return parse_samples(std::move(tables));
}

std::string to_csv(const std::vector<Sample>& samples) {
  std::string text;
  for (const std::string_view word : kColumnNames) text += (text.empty() ? "" : ",") + std::string(word);
  text += '\n';
  for (const Sample& s : samples) {
    for (const std::string* label : {&s.group, &s.throttle})
      CHECK_THAT(label->find_first_of(",\"\r\n") == std::string::npos);
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", name(s.op.kind), impl_text(s.op),
                        name(s.op.pass), name(s.op.dtype), sizes_text(s.op), s.us,
                        s.spread > 0 ? fmt::format("{}", s.spread) : "", cell_of(s.host_us),
                        s.op.launches == usual_launches(s.op) ? "" : fmt::format("{}", s.op.launches),
                        cell_of(s.clock_mhz), cell_of(s.power_w), cell_of(s.limit_w), s.throttle,
                        cell_of(s.product_share), cell_of(s.loop_s), s.group);
  }
  return text;
}

}  // namespace foretrain
