// SimuMax's measured efficiencies (github.com/MooreThreads/SimuMax, Apache-2.0): operators of training in Transformer
// Engine, both backwards included (simu_tools/efficency_test). A product y[m,n] of depth k was timed as
//   TN  forward                        m x n of depth k
//   NN  gradient of the input          m x k of depth n
//   NT  gradient of the weight         n x k of depth m, added to one in fp32 (or bf16, which is left out)
// in a hundred runs without a pause, a grouped product in fifty, attention in 25 that wait for each other.
//   us = FLOPs / (efficiency * peak)
// where attention counts the whole square, 2 (qk + v) of width forward and 5 (qk + v) backward, though it is causal.
#include <array>
#include <charconv>

#include "operators/attention.h"
#include "operators/product.h"
#include "samples/table_row.h"

namespace foretrain {
namespace {

constexpr std::int64_t kMaxSide = 1'000'000'000, kMaxGroups = 100'000;
constexpr double kProductRuns = 100, kGroupedRuns = 50, kAttentionRuns = 25;

constexpr std::array<std::string_view, 10> kNames = {
    "gpu",       "op",     "batch_or_groups", "m_or_seq",    "n_or_heads",
    "k_or_dims", "detail", "efficiency",      "peak_tflops", "us"};

Result<void> add_sample(TableRow& row, const std::string& gpu, const Operator& op, double us, double runs) {
  Sample sample;
  sample.op = op;
  sample.us = us;
  sample.loop_s = runs * us * 1e-6;
  sample.product_share = 1;
  sample.group = std::string(kSimumax);
  return row.add(gpu, std::move(sample));
}

Result<double> efficient_us(const TableRow& row, double flops) {
  TRY_ASSIGN(const double efficiency, row.number("efficiency", 100));
  TRY_ASSIGN(const double tflops, row.number("peak_tflops", 1e9));
  return flops / (efficiency * tflops * 1e12) * 1e6;
}

Result<void> read_product(TableRow& row, const std::string& gpu) {
  constexpr std::array<std::string_view, 4> kLayouts = {"TN bf16", "NN bf16", "NT acc fp32", "NT acc bf16"};
  TRY_ASSIGN(const std::size_t layout, row.choice("detail", kLayouts));
  TRY_ASSIGN(const std::int64_t batch, row.whole("batch_or_groups", 1, kMaxSide));
  TRY_ASSIGN(const std::int64_t m, row.whole("m_or_seq", 1, kMaxSide));
  TRY_ASSIGN(const std::int64_t n, row.whole("n_or_heads", 1, kMaxSide));
  TRY_ASSIGN(const std::int64_t k, row.whole("k_or_dims", 1, kMaxSide));
  TRY_ASSIGN(const double us, efficient_us(row, 2.0 * static_cast<double>(batch) * static_cast<double>(m) *
                                                    static_cast<double>(n) * static_cast<double>(k)));
  // Megatron-LM adds to fp32 by default, and one operator has one time.
  if (layout == 3) return row.reject("added to bf16"), Result<void>();
  // One loop after the other: the short ones ran as fast as bursts or a third slower, as those before had left the card.
  if (kProductRuns * us * 1e-6 < kSettlingSeconds) return row.reject("too short to settle"), Result<void>();
  switch (layout) {
    case 0:
      return add_sample(row, gpu, linear({.m = batch * m, .k = k, .n = n}), us, kProductRuns);
    case 1:
      return add_sample(row, gpu, linear({.m = batch * m, .k = n, .n = k}, {.pass = PassKind::kInput}), us,
                        kProductRuns);
    default:
      return add_sample(row, gpu, linear({.m = batch * k, .k = n, .n = m}, {.pass = PassKind::kWeight}), us,
                        kProductRuns);
  }
}

// One product an expert, over several streams: as many launches.
Result<void> read_grouped(TableRow& row, const std::string& gpu) {
  constexpr std::array<std::string_view, 3> kPasses = {"fwd", "bwd_grad_act", "bwd_grad_w"};
  constexpr std::array<PassKind, 3> kKinds = {PassKind::kForward, PassKind::kInput, PassKind::kWeight};
  TRY_ASSIGN(const std::size_t pass, row.choice("detail", kPasses));
  TRY_ASSIGN(const std::int64_t groups, row.whole("batch_or_groups", 1, kMaxGroups));
  GroupedSizes sizes{.experts = groups};
  TRY_ASSIGN(const std::int64_t rows, row.whole("m_or_seq", 1, kMaxSide));
  sizes.m = groups * rows;
  TRY_ASSIGN(sizes.n, row.whole("n_or_heads", 1, kMaxSide));
  TRY_ASSIGN(sizes.k, row.whole("k_or_dims", 1, kMaxSide));
  const Variant way{
      .impl = Impl::kFused, .pass = kKinds[pass], .launches = static_cast<std::int32_t>(groups)};
  const Operator op = grouped_product(sizes, way);
  TRY_ASSIGN(const double us, efficient_us(row, flops(op).value));
  // Timed from the host, which launches a product in some 9 us: a group of many small ones is its work.
  constexpr double kLaunchUs = 12;
  if (us < kLaunchUs * static_cast<double>(groups)) return row.reject("launches"), Result<void>();
  if (kGroupedRuns * us * 1e-6 < kSettlingSeconds) return row.reject("too short to settle"), Result<void>();
  return add_sample(row, gpu, op, us, kGroupedRuns);
}

// "192/128": widths of keys and values.
Result<std::pair<std::int64_t, std::int64_t>> read_widths(const TableRow& row) {
  const std::string_view text = row.text("k_or_dims");
  std::int64_t keys = 0, values = 0;
  const char* end = text.data() + text.size();
  const auto [slash, first] = std::from_chars(text.data(), end, keys);
  const bool divided = first == std::errc() && slash != end && *slash == '/';
  const auto [last, second] = std::from_chars(divided ? slash + 1 : end, end, values);
  if (!divided || second != std::errc() || last != end || keys < 1 || values < 1 || keys > kMaxGroups ||
      values > kMaxGroups)
    return fail("k_or_dims: found '" + std::string(text) + "', expected widths as 128/128",
                row.position("k_or_dims"));
  return std::pair(keys, values);
}

// "kv 8 contiguous": heads of keys.
Result<std::int64_t> read_kv_heads(const TableRow& row) {
  std::string_view text = row.text("detail");
  std::int64_t heads = 0;
  if (text.starts_with("kv ")) {
    text.remove_prefix(3);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), heads);
    const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
    if (error == std::errc() && heads >= 1 && heads <= kMaxGroups && (rest.empty() || rest == " contiguous"))
      return heads;
  }
  return fail("detail: found '" + std::string(row.text("detail")) + "', expected as 'kv 8 contiguous'",
              row.position("detail"));
}

Result<void> read_attention(TableRow& row, const std::string& gpu, bool backward) {
  TRY_ASSIGN(const std::int64_t batch, row.whole("batch_or_groups", 1, kMaxSide));
  TRY_ASSIGN(const std::int64_t seq, row.whole("m_or_seq", 1, 1'000'000'000));
  TRY_ASSIGN(const std::int64_t heads, row.whole("n_or_heads", 1, kMaxGroups));
  TRY_ASSIGN(const auto widths, read_widths(row));
  TRY_ASSIGN(const std::int64_t kv_heads, read_kv_heads(row));
  if (heads % kv_heads != 0)
    return fail("detail: expected heads of keys to divide heads", row.position("detail"));
  const auto [keys, values] = widths;
  const double square = static_cast<double>(batch) * static_cast<double>(seq) * static_cast<double>(seq) *
                        static_cast<double>(heads) * static_cast<double>(keys + values);
  TRY_ASSIGN(const double us, efficient_us(row, (backward ? 5 : 2) * square));
  const Variant way{.impl = Impl::kSdpa, .pass = backward ? PassKind::kBackward : PassKind::kForward};
  Operator op = keys == values
                    ? attention({.batch = batch,
                                 .heads = heads,
                                 .kv_heads = kv_heads,
                                 .seq = seq,
                                 .head_dim = keys,
                                 .causal = 1},
                                way)
                    : latent_attention(
                          {.batch = batch, .heads = heads, .seq = seq, .qk_dim = keys, .v_dim = values}, way);
  op.launches = usual_launches(op);
  return add_sample(row, gpu, op, us, kAttentionRuns);
}

Result<void> read_row(TableRow& row) {
  constexpr std::array<std::string_view, 4> kOps = {"matmul", "group_matmul", "sdp_fwd", "sdp_bwd"};
  TRY_ASSIGN(const std::string gpu, row.gpu("gpu"));
  TRY_ASSIGN(const std::size_t op, row.choice("op", kOps));
  switch (op) {
    case 0:
      return read_product(row, gpu);
    case 1:
      return read_grouped(row, gpu);
    default:
      return read_attention(row, gpu, op == 3);
  }
}

constexpr TableLayout kLayouts[] = {{"SimuMax's efficiencies", kNames, read_row}};

}  // namespace

constinit const std::span<const TableLayout> kSimumaxLayouts = kLayouts;

}  // namespace foretrain
