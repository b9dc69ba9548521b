#include "ask/device_hint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

namespace foretrain {
namespace {

constexpr std::size_t kMostClusters = 4;
constexpr std::size_t kMostText = 4 << 20;  // the beginning of a log tells of its machine

// How often a word stands in a text by itself, whatever its case.
std::size_t count_word(std::string_view text, std::string_view word) {
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  std::size_t count = 0;
  for (auto at = text.begin();; ++at) {
    at = std::search(at, text.end(), word.begin(), word.end(), same);
    if (at == text.end()) return count;
    const auto end = at + static_cast<std::ptrdiff_t>(word.size());
    if ((at == text.begin() || !is_letter(*(at - 1))) && (end == text.end() || !is_letter(*end))) ++count;
  }
}

}  // namespace

std::string device_hint(const Catalog& catalog, std::string_view text) {
  text = text.substr(0, kMostText);
  std::string best;
  std::size_t most = 0;
  for (const std::string& gpu : catalog.names("gpus")) {
    const std::string word = gpu.substr(0, gpu.find('-'));
    if (const std::size_t count = count_word(text, word); count > most) most = count, best = word;
  }
  if (most == 0) return "";
  std::vector<std::string> clusters;
  for (const std::string& name : catalog.names("clusters"))
    if (const auto cluster = catalog.cluster(name))
      if (cluster->gpu.name.substr(0, cluster->gpu.name.find('-')) == best) clusters.push_back(name);
  std::stable_sort(clusters.begin(), clusters.end(), [](const std::string& a, const std::string& b) {
    const bool is_plain = a.starts_with("dgx-"), other = b.starts_with("dgx-");
    return is_plain != other ? is_plain : a.size() < b.size();
  });
  if (clusters.size() > kMostClusters) clusters.resize(kMostClusters);
  std::transform(best.begin(), best.end(), best.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return fmt::format("; it names {}: {} or another cluster of that GPU", best, fmt::join(clusters, ", "));
}

}  // namespace foretrain
