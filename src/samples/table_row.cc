#include "samples/table_row.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "spec/choice.h"

namespace foretrain {
namespace {

constexpr std::size_t kMaxGpus = 100, kMaxGpuName = 40;

}  // namespace

int TableRow::at(std::string_view column) const {
  const auto found = std::find(names_.begin(), names_.end(), column);
  CHECK_THAT(found != names_.end());
  return static_cast<int>(found - names_.begin());
}

template <class T>
Result<T> TableRow::filled(const Result<std::optional<T>>& cell, std::string_view column,
                           std::string_view expected) const {
  if (!cell) return tl::unexpected(cell.error());
  if (*cell) return **cell;
  return fail(fmt::format("{}: found nothing, expected {}", column, expected), position(column));
}

Result<std::int64_t> TableRow::whole(std::string_view column, std::int64_t low, std::int64_t high) const {
  return filled(table_.whole(row_, at(column), low, high), column, "a whole number");
}

Result<double> TableRow::number(std::string_view column, double high) const {
  return filled(table_.number(row_, at(column), 0, false, high), column, "a number");
}

Result<double> TableRow::number_or_none(std::string_view column, double high) const {
  TRY_ASSIGN(const auto value, table_.number(row_, at(column), 0, true, high));
  return value.value_or(0);
}

Result<std::size_t> TableRow::choice(std::string_view column, std::span<const std::string_view> words) const {
  return parse_choice<std::size_t>(text(column), words, position(column));
}

Result<std::string> TableRow::gpu(std::string_view column) const {
  const std::string_view word = text(column);
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  if (word.empty() || word.size() > kMaxGpuName || word.front() == '-' ||
      !std::all_of(word.begin(), word.end(), is_plain))
    return fail(fmt::format("gpu: found {}, expected a name of small letters, digits and '-'", quoted(word)),
                position(column));
  const std::string name(word);
  const bool is_known = imported_.samples.contains(name) || imported_.operators.contains(name);
  if (!is_known && imported_.samples.size() + imported_.operators.size() >= kMaxGpus)
    return fail(fmt::format("gpu: found more than {} GPUs, expected fewer", kMaxGpus), position(column));
  return name;
}

Result<void> TableRow::add(const std::string& gpu, CollectiveSample sample) {
  // What our own table can hold.
  if (sample.bytes.value > 1e15 || !(sample.seconds > Seconds(0)) || sample.seconds.value * 1e6 > kMaxTableUs)
    return reject("too large"), Result<void>();
  std::vector<CollectiveSample>& samples = imported_.samples[gpu];
  TRY(check_sample_count(samples.size() + 1, report_.file));
  samples.push_back(std::move(sample));
  ++report_.samples;
  return {};
}

Result<void> TableRow::add(const std::string& gpu, Sample sample) {
  std::vector<Sample>& samples = imported_.operators[gpu];
  TRY(check_sample_count(samples.size() + 1, report_.file));
  samples.push_back(std::move(sample));
  ++report_.samples;
  return {};
}

}  // namespace foretrain
