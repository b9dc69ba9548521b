#include "samples/nccl_line.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace foretrain {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// "2025-03-01", "10:00:00.25", "2025-03-01T10:00:00Z", never a plain number.
bool is_time_stamp(std::string_view word) {
  const bool of_one = std::all_of(word.begin(), word.end(), [](char c) {
    return is_digit(c) || std::string_view("-:.,TZ+").find(c) != std::string_view::npos;
  });
  return of_one && !word.empty() && is_digit(word.front()) &&
         (std::count(word.begin(), word.end(), ':') == 2 || std::count(word.begin(), word.end(), '-') >= 2);
}

// How long a mark at the beginning is; 0 where there is none.
std::size_t mark_length(std::string_view text) {
  if (text.empty()) return 0;
  if (text.front() == '>') return 1;  // a quotation of Markdown
  if (text.front() == '[') {
    std::size_t end = text.find(']');
    if (end == std::string_view::npos) return 0;
    ++end;
    if (end < text.size() && text[end] == '<') {
      const std::size_t close = text.find('>', end);
      if (close == std::string_view::npos) return 0;
      end = close + 1;
    }
    return end < text.size() && text[end] == ':' ? end + 1 : end;
  }
  const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
  const std::string_view word = text.substr(0, end);
  if (word.front() == '#') return 0;
  return is_time_stamp(word) || (word.size() > 1 && word.ends_with(':')) ? end : 0;
}

struct Program {
  std::string_view name;
  std::optional<CollectiveKind> kind;
};
constexpr Program kPrograms[] = {{"all_reduce_perf", CollectiveKind::kAllReduce},
                                 {"all_gather_perf", CollectiveKind::kAllGather},
                                 {"reduce_scatter_perf", CollectiveKind::kReduceScatter},
                                 {"broadcast_perf", CollectiveKind::kBroadcast},
                                 {"alltoall_perf", CollectiveKind::kAllToAll},
                                 {"sendrecv_perf", CollectiveKind::kSendReceive},
                                 {"reduce_perf", {}},
                                 {"gather_perf", {}},
                                 {"scatter_perf", {}},
                                 {"hypercube_perf", {}},
                                 {"alltoallv_perf", {}}};

// In the order of CollectiveKind, as far as nccl-tests go.
constexpr std::array<std::string_view, 6> kPlainNames = {"allreduce", "allgather", "reducescatter",
                                                         "broadcast", "alltoall",  "sendrecv"};

}  // namespace

std::vector<NcclWord> NcclLine::words() const {
  std::vector<NcclWord> words;
  std::size_t at = is_comment() ? 1 : 0;
  while (at < text.size()) {
    at = text.find_first_not_of(" \t", at);
    if (at == std::string_view::npos) break;
    const std::size_t end = std::min(text.find_first_of(" \t", at), text.size());
    words.push_back({text.substr(at, end - at), column + static_cast<int>(at)});
    at = end;
  }
  return words;
}

NcclLine nccl_line(std::string_view line) {
  std::size_t at = 0;
  const auto skip_spaces = [&] { at = std::min(line.find_first_not_of(" \t\r", at), line.size()); };
  skip_spaces();
  while (const std::size_t mark = mark_length(line.substr(at))) {
    at += mark;
    skip_spaces();
  }
  return {trim(line.substr(at)), static_cast<int>(at) + 1};
}

std::optional<NcclTest> nccl_test_in(std::string_view line) {
  constexpr std::string_view kEnd = "_perf";
  for (std::size_t at = line.find(kEnd); at != std::string_view::npos; at = line.find(kEnd, at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && (is_alnum(line[begin - 1]) || line[begin - 1] == '_')) --begin;
    const std::string_view word = line.substr(begin, at + kEnd.size() - begin);
    for (const Program& program : kPrograms)
      if (word == program.name) return NcclTest{std::string(program.name), program.kind};
  }
  return std::nullopt;
}

std::optional<CollectiveKind> collective_in_file_name(std::string_view path) {
  std::string plain;
  for (const char c : path.substr(path.rfind('/') + 1))
    if (is_alnum(c)) plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::optional<CollectiveKind> found;
  for (std::size_t i = 0; i < kPlainNames.size(); ++i) {
    if (plain.find(kPlainNames[i]) == std::string::npos) continue;
    if (found) return std::nullopt;
    found = static_cast<CollectiveKind>(i);
  }
  return found;
}

}  // namespace foretrain
