#include "samples/nccl_inference.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace foretrain {
namespace {

constexpr double kHundredth = 0.0051;  // GB/s are printed to a hundredth
constexpr double kTelling = 1;         // GB/s from which on a ratio says something
constexpr double kMostRanks = 1'000'000;

bool counts_a_share(CollectiveKind kind) {
  return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kAllToAll;
}

// How many times the counted elements make up the size; none where a row does not say.
std::optional<std::int64_t> shares(const NcclRow& row) {
  const auto bytes = nccl_type_bytes(row.type);
  if (!bytes || row.size <= 0 || row.elements <= 0) return std::nullopt;
  const double ratio = row.size / (row.elements * *bytes);
  if (ratio != std::floor(ratio) || ratio > kMostRanks) return std::nullopt;
  return static_cast<std::int64_t>(ratio);
}

std::optional<std::int64_t> common_shares(std::span<const NcclRow> rows) {
  std::optional<std::int64_t> common;
  for (const NcclRow& row : rows) {
    const auto one = shares(row);
    if (!one) continue;
    if (common && *common != *one) return std::nullopt;
    common = one;
  }
  return common;
}

std::int64_t bounded(double ranks, double if_infinite) {
  if (!(ranks > 0)) return static_cast<std::int64_t>(if_infinite);  // the ratio reaches its limit
  return static_cast<std::int64_t>(std::min(ranks, kMostRanks));
}

// n for which the bus carries `ratio` of the tensor: limit (n-1)/n = ratio.
double ranks_of(double ratio, double limit) { return ratio >= limit ? -1 : limit / (limit - ratio); }

}  // namespace

std::optional<CollectiveKind> inferred_collective(std::span<const NcclRow> rows) {
  const auto parts = common_shares(rows);
  if (!parts || rows.empty()) return std::nullopt;
  const bool has_root = rows.front().root >= 0;
  const bool is_reduction = rows.front().is_reduction;
  if (has_root) {  // reduce, gather and scatter are no collectives of ours
    if (*parts > 1 || is_reduction) return std::nullopt;
    return CollectiveKind::kBroadcast;
  }
  if (*parts > 1) return is_reduction ? CollectiveKind::kReduceScatter : CollectiveKind::kAllGather;
  if (is_reduction) return CollectiveKind::kAllReduce;
  return CollectiveKind::kSendReceive;
}

std::optional<RankRange> inferred_ranks(std::span<const NcclRow> rows, CollectiveKind kind) {
  if (counts_a_share(kind))
    if (const auto parts = common_shares(rows); parts && *parts > 1) return RankRange{*parts, *parts};
  if (kind != CollectiveKind::kAllReduce && !counts_a_share(kind)) return std::nullopt;
  const double limit = kind == CollectiveKind::kAllReduce ? 2 : 1;
  RankRange range{2, static_cast<std::int64_t>(kMostRanks)};
  bool is_told = false;
  for (const NcclRow& row : rows) {
    if (!row.algbw.is_known || !row.busbw.is_known || row.algbw.value < kTelling) continue;
    const double least = (row.busbw.value - kHundredth) / (row.algbw.value + kHundredth);
    const double most = (row.busbw.value + kHundredth) / (row.algbw.value - kHundredth);
    range.least = std::max(range.least, bounded(std::ceil(ranks_of(least, limit)), kMostRanks));
    range.most = std::min(range.most, bounded(std::floor(ranks_of(most, limit)), kMostRanks));
    is_told = true;
  }
  if (!is_told || range.least > range.most) return std::nullopt;
  return range;
}

std::int64_t roundest(const RankRange& range) {
  for (std::int64_t step = std::int64_t{1} << 20; step > 1; step /= 2) {
    const std::int64_t first = (range.least + step - 1) / step * step;
    if (first <= range.most) return first;
  }
  return range.least;
}

}  // namespace foretrain
