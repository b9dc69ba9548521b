#include "samples/stated_run.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "formats/argument_origin.h"
#include "samples/log_line.h"
#include "samples/nccl_line.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostPairs = 10'000, kMostLength = 10'000;
constexpr std::string_view kDots = " ...";

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

}  // namespace

// The sizes that torchtitan tells before it begins, in a sentence.
void StatedRun::read_sizes(std::string_view line) {
  if (line.find("local batch size") == std::string_view::npos) return;
  constexpr std::pair<std::string_view, std::string_view> kSizes[] = {
      {"local batch size", "local_batch_size"},
      {"global batch size", "global_batch_size"},
      {"gradient accumulation steps", "gradient_accumulation_steps"},
      {"sequence length", "seq_len"},
      {"total steps", "steps"}};
  for (const auto& [words, key] : kSizes)
    if (const auto number = number_after(line, words); number && std::abs(number->value) < 1e15)
      pairs_.emplace(key, std::to_string(std::llround(number->value)));
}

void StatedRun::read(std::string_view line) {
  if (line.find("-- end of arguments --") != std::string_view::npos) {
    is_inside_ = false;
    return;
  }
  if (line.find("-- arguments --") != std::string_view::npos) {
    is_inside_ = true;
    pairs_.clear();
    return;
  }
  if (pairs_.size() >= kMostPairs || line.size() > kMostLength) return;
  constexpr std::string_view kConfig = "Config param ";
  if (const std::size_t at = line.find(kConfig); at != std::string_view::npos) {
    const std::string_view pair = line.substr(at + kConfig.size());
    const std::size_t colon = pair.find(": ");
    if (colon != std::string_view::npos && is_name(pair.substr(0, colon)))
      pairs_.insert_or_assign(std::string(pair.substr(0, colon)), std::string(trim(pair.substr(colon + 2))));
    return;
  }
  read_sizes(line);
  if (!is_inside_) return;
  const std::string_view text = nccl_line(line).text;  // without what launchers put in front
  const std::size_t at = text.find(kDots);
  if (at == std::string_view::npos || !is_name(text.substr(0, at))) return;
  std::string_view value = text.substr(at + 1);
  value = value.substr(std::min(value.find_first_not_of('.'), value.size()));
  pairs_.insert_or_assign(std::string(text.substr(0, at)), std::string(said_argument(trim(value)).value));
}

}  // namespace foretrain
