#include "ask/search_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ask/number_range.h"
#include "ask/words.h"
#include "base/field_mark.h"
#include "base/text.h"
#include "job/parse_run.h"
#include "job/run_check.h"

namespace foretrain {
namespace {

constexpr std::int64_t kMostGpus = 10'000'000;
constexpr std::int64_t kMostSeq = 100'000'000;
constexpr std::int64_t kMostBatch = 1'000'000'000;
constexpr std::int64_t kMostTokens = 1'000'000'000'000;  // a step
constexpr std::size_t kMostCounts = 10'000;
constexpr std::size_t kMostPoints = 256;

// A count that the cluster cannot be cut into, in words.
std::optional<std::string> unusable(std::int64_t gpus, const Cluster& cluster) {
  if (gpus > cluster.gpus_per_node && gpus % cluster.gpus_per_node != 0)
    return fmt::format("{} is more than one node, but not a multiple of gpus_per_node {}", gpus,
                       cluster.gpus_per_node);
  if (gpus > cluster.nvlink_domain && cluster.inter.bandwidth == BytesPerSecond())
    return fmt::format("{} is more than {}, and cluster {} states no 'inter' links", gpus,
                       cluster.nvlink_domain, foretrain::quoted(cluster.name));
  return std::nullopt;
}

// One end of a range, or a count alone.
Result<std::int64_t> gpu_count(std::string_view word, const std::string& text) {
  TRY_ASSIGN(const std::int64_t count, bounded_count_word("gpus", trim(word), kMostGpus));
  if (count > 0) return count;
  return fail_field("gpus", fmt::format("found nothing in {}, expected a count", foretrain::quoted(text)));
}

// What no plan can help: the rules that the plainest plan breaks by the run's other figures.
Result<void> check_problem(const Problem& p) {
  Run run = run_without_plan(p);
  run.stack.rules.clear();  // some plan may keep to them
  run.gpus = p.gpus.front();
  run.plan.tp = 1;
  run.plan.pp = 1;
  run.global_batch = run.gpus;
  TRY(check_run(run));
  if (p.global_batch > kMostTokens / p.seq)
    return fail(
        fmt::format("global_batch {} * seq {} is more than 10^12 tokens a step", p.global_batch, p.seq));
  return {};
}

// "4096", "512,1024", "4k..32k": its words, each once.
Result<std::vector<std::string>> listed(std::string_view field, std::string_view text,
                                        std::string_view unit) {
  std::vector<std::string> words;
  for (const std::string_view part : split(text, ',')) {
    std::vector<std::string> some = {std::string(trim(part))};
    if (is_range(part)) {
      TRY_ASSIGN(some, of_field(field, range_words(trim(part), true, unit)));
    }
    for (std::string& word : some)
      if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(std::move(word));
  }
  return words;
}

// Lengths as numbers, each once.
Result<void> in_digits(std::vector<std::string>& seqs) {
  std::vector<std::string> out;
  for (const std::string& word : seqs) {
    TRY_ASSIGN(const std::int64_t seq, tokens_word("seq", word));
    if (seq == 0) return fail_field("seq", "found nothing, expected a length");
    if (seq > kMostSeq) return fail_field("seq", fmt::format("found {}, expected at most {}", seq, kMostSeq));
    std::string digits = fmt::format("{}", seq);
    if (std::find(out.begin(), out.end(), digits) == out.end()) out.push_back(std::move(digits));
  }
  seqs = std::move(out);
  return {};
}

Result<std::int64_t> batch_of(const std::string& word, std::int64_t seq) {
  if (const auto tokens = batch_tokens(word)) return of_field("global_batch", sequences_of(*tokens, seq));
  TRY_ASSIGN(const std::int64_t batch, bounded_count_word("global_batch", word, kMostBatch));
  if (batch == 0) return fail_field("global_batch", "found nothing, expected a count");
  return batch;
}

}  // namespace

Result<std::vector<std::int64_t>> gpu_counts(const std::string& text, const Cluster& cluster) {
  std::vector<std::int64_t> counts;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t dots = part.find("..");
    TRY_ASSIGN(const std::int64_t low, gpu_count(part.substr(0, dots), text));
    if (dots == std::string_view::npos) {
      if (const auto reason = unusable(low, cluster)) return fail_field("gpus", *reason);
      counts.push_back(low);
      continue;
    }
    TRY_ASSIGN(const std::int64_t high, gpu_count(part.substr(dots + 2), text));
    if (low > high)
      return fail_field("gpus",
                        fmt::format("found {}, expected the smaller number first", foretrain::quoted(part)));
    for (std::int64_t n = low; n <= high && counts.size() <= kMostCounts; ++n)
      if (!unusable(n, cluster)) counts.push_back(n);
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  if (counts.empty() || counts.size() > kMostCounts)
    return fail_field("gpus", fmt::format("found {} counts that cluster {} can be cut into, expected 1 to {}",
                                          counts.size() > kMostCounts ? "more" : "no",
                                          foretrain::quoted(cluster.name), kMostCounts));
  return counts;
}

Result<void> read_points(const SearchRequest& r, AnswerRequest& out) {
  Problem& p = out.problem;
  BatchPoints& over = out.over;
  if (r.global_batch.empty()) return not_given("global_batch");
  if (r.seq.empty()) {
    if (p.model.default_seq == 0) return not_given("seq");
    out.assumed.push_back(fmt::format("seq: {} (the model's own)", p.model.default_seq));
    over.seqs = {fmt::format("{}", p.model.default_seq)};
  } else {
    TRY_ASSIGN(over.seqs, listed("seq", r.seq, ""));
  }
  TRY(in_digits(over.seqs));
  TRY_ASSIGN(over.batches, listed("global_batch", r.global_batch, "tok"));
  if (over.seqs.size() * over.batches.size() > kMostPoints)
    return fail_field(over.seqs.size() > over.batches.size() ? "seq" : "global_batch",
                      fmt::format("found {} lengths and batches to search, expected at most {}",
                                  over.seqs.size() * over.batches.size(), kMostPoints));
  std::optional<Error> first_refusal;
  bool found = false;
  for (const std::string& seq_word : over.seqs) {
    const std::int64_t seq = *parse_integer(seq_word);
    for (const std::string& batch_word : over.batches) {
      Problem at = p;
      at.seq = seq;
      auto batch = batch_of(batch_word, seq);
      if (!batch && !batch_tokens(batch_word)) return tl::unexpected(std::move(batch).error());
      at.global_batch = batch.value_or(0);
      const Result<void> checked = batch ? check_problem(at) : tl::unexpected(batch.error());
      over.points.push_back({seq, at.global_batch, checked ? "" : checked.error().message});
      if (!checked && !first_refusal) first_refusal = checked.error();
      if (!checked || found) continue;
      found = true;
      p = std::move(at);
    }
  }
  if (!found) return tl::unexpected(*std::move(first_refusal));
  return {};
}

}  // namespace foretrain
