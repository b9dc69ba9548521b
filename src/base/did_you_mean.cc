#include "base/did_you_mean.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "base/text.h"

namespace foretrain {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Optimal string alignment: insertions, deletions, substitutions and adjacent swaps cost one each. Three rows
// of the usual table suffice, for a swap looks two rows back.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto same = [&](std::size_t i, std::size_t j) { return lower(a[i]) == lower(b[j]); };
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, previous);
    std::swap(previous, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = previous[j - 1] + (same(i - 1, j - 1) ? 0 : 1);
      row[j] = std::min({previous[j] + 1, row[j - 1] + 1, change});
      if (i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1)) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::string letters_and_digits(std::string_view text) {
  std::string kept;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)))
      kept += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return kept;
}

std::string listed(std::span<const std::string> names) {
  constexpr std::size_t kMaxListed = 12;
  const auto first = names.first(std::min(names.size(), kMaxListed));
  return join({first.begin(), first.end()}, ", ") + (names.size() > kMaxListed ? ", ..." : "");
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  const std::string* best = nullptr;
  std::size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(word.size(), candidate.size());
    const std::size_t shorter = std::min(word.size(), candidate.size());
    const std::size_t allowed = std::max<std::size_t>(1, longer / 3);
    if (longer - shorter > allowed) continue;  // each missing letter costs one: it cannot be near
    const std::size_t distance = edit_distance(word, candidate);
    if (distance > allowed || (best != nullptr && distance >= best_distance)) continue;
    best = &candidate;
    best_distance = distance;
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

std::string suggestion(std::string_view word, std::span<const std::string> candidates) {
  if (const auto near = nearest(word, candidates)) return "; did you mean " + quoted(*near) + "?";
  if (candidates.empty()) return "";
  // A beginning counts, whatever dashes and dots it lacks: "llama3" for "llama-3-8b"; else any part: "h100" for "dgx-h100".
  constexpr std::size_t kLeastPart = 3;
  const std::string part = letters_and_digits(word);
  std::vector<std::string> begun, holding;
  for (const std::string& candidate : candidates) {
    const std::size_t at = letters_and_digits(candidate).find(part);
    if (at == 0 && !part.empty()) begun.push_back(candidate);
    if (at != std::string::npos && part.size() >= kLeastPart) holding.push_back(candidate);
  }
  if (begun.empty()) begun = std::move(holding);
  if (begun.size() == 1) return "; did you mean " + quoted(begun.front()) + "?";
  return begun.empty() ? "; expected one of " + listed(candidates)
                       : "; did you mean one of " + listed(begun) + "?";
}

}  // namespace foretrain
