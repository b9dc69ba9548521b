// Terms: the work with head_dim padded to what kernels are built for, waves of blocks of 128 queries, the
// last of which sees all keys, and heads wider than 128 apart.
#include "operators/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "operators/description.h"
#include "operators/features.h"

namespace foretrain {
namespace {

constexpr auto kBlock = static_cast<double>(kAttentionTile);

// FlashAttention 1 in Triton against FlashAttention 2 on an A100. FlashAttention 2 is twice as fast as
// FlashAttention 1 (Dao 2023, arXiv 2307.08691); the Triton kernel's forward is faster than that one's, its
// backward slower, both together a little slower (flash_attn_triton.py of Dao-AILab/flash-attention). The
// split is assumed.
constexpr double kTritonForward = 1.4;
constexpr double kTritonBackward = 2.0;

// A mask that is read, against whole squares without one: cuDNN 9 on an H200 (32 heads of 128, 8192 tokens, PyTorch
// 2.11) makes scores at 370 and 306 TFLOP/s, forward and backward, where causal halves run at 600 and 500.
constexpr double kMaskedSlower = 1.6;

// Elements of the queries, and of the keys or the values.
struct Operands {
  double q, kv;
};
Operands operands(const Operator& op) {
  const auto [batch, heads, kv_heads, seq, head_dim] = real_sizes<5>(op);
  return {batch * heads * seq * head_dim, batch * kv_heads * seq * head_dim};
}

// Tokens of the causal sequences that it works on.
double span_of(const Operator& op, double seq) {
  return has_span(op) ? static_cast<double>(op.flat()[kCausalSize]) : seq;
}

Flops attention_flops(const Operator& op) {
  // Two products forward; backward five, one of them the scores again (Dao 2023, arXiv 2307.08691).
  const auto [batch, heads, kv_heads, seq, head_dim, causal] = real_sizes<6>(op);
  const double half = causal != 0 ? 0.5 : 1.0;
  return Flops((is_forward(op) ? 4 : 10) * half * batch * heads * seq * span_of(op, seq) * head_dim);
}

double made_once(const Operator& op) {
  const double kept = op.impl == Impl::kMasked ? 0.5 : 1.0;  // by the mask
  return kept * (op.pass == PassKind::kBackward ? 0.8 : 1.0);
}

Bytes attention_bytes(const Operator& op) {
  const auto [q, kv] = operands(op);
  return Bytes(bytes_of(op.dtype) * (is_forward(op) ? 2 * q + 2 * kv : 4 * q + 4 * kv));
}

double least_attention_bytes(const Operator& op) { return attention_bytes(op).value; }

// Backward: the sums of rows, the kernel, queries back to half precision.
std::int32_t attention_launches(const Operator& op) { return is_forward(op) ? 1 : 3; }

int attention_row_loads(const Operator& op) { return row_loads(op.as<AttentionSizes>().head_dim); }

void align_heads(Operator& op) {
  auto sizes = op.as<AttentionSizes>();
  sizes.head_dim = aligned_row(sizes.head_dim);
  op.set(sizes);
}

Bytes attention_made(const Operator& op) {
  const auto [batch, heads, kv_heads, seq, head_dim] = real_sizes<5>(op);
  return Bytes(bytes_of(op.dtype) * batch * heads * seq * head_dim);
}

Bytes attention_working(const Operator& op) {
  const auto [q, kv] = operands(op);
  return Bytes(bytes_of(op.dtype) * (is_forward(op) ? q : 2 * q + 2 * kv));
}

// As many heads of keys as of queries, and causal.
void set_attention_defaults(Operator& op, std::span<bool> given) {
  constexpr std::size_t kKvHeads = 2;
  auto sizes = op.as<AttentionSizes>();
  if (!given[kKvHeads]) sizes.kv_heads = sizes.heads;
  if (!given[kCausalSize]) sizes.causal = 1;
  op.set(sizes);
  given[kKvHeads] = given[kCausalSize] = true;
}

Result<void> check_heads(const Operator& op, const Position& at) {
  const auto sizes = op.as<AttentionSizes>();
  if (sizes.heads % sizes.kv_heads == 0) return {};
  return fail(fmt::format("found heads={} kv_heads={}, expected kv_heads to divide heads", sizes.heads,
                          sizes.kv_heads),
              at);
}

// Of kernels that read a mask, heads wider than 128 have one of 256: on our H200 heads of 192 run at 0.75 of the rate of
// heads of 256.
double padded(const Operator& op) {
  const std::int64_t head_dim = op.as<AttentionSizes>().head_dim;
  const bool widest = op.impl == Impl::kMasked && head_dim > 128;
  return static_cast<double>(padded_head_dim(widest ? std::max<std::int64_t>(head_dim, 256) : head_dim));
}

// Work of the block of queries that sees all keys: where blocks are few, the SM that has it ends last.
double longest_block(const Operator& op) {
  const double products = is_forward(op) ? 4 : 10;
  return products * kBlock * static_cast<double>(op.as<AttentionSizes>().seq) * padded(op);
}

// A mask that is read: the whole square, nothing of which is skipped. Rows of the mask that are no multiple of 16 bytes
// take another kernel, which pads no heads; heads that are not have none at all, and PyTorch writes the scores out (some
// 130 bytes each, over all that is done to them).
void add_masked_terms(Terms& t, const Operator& op, const Gpu& gpu) {
  constexpr double kWrittenOut = 128;
  const auto [batch, heads, kv_heads, seq, head_dim] = real_sizes<5>(op);
  const double rate = gpu.rate(op.dtype).value, sms = static_cast<double>(gpu.sms);
  const double scores = batch * heads * seq * seq;
  const double plain = flops(op).value / rate, work = plain * padded(op) / head_dim;
  const double blocks = batch * heads * std::ceil(seq / kBlock);
  const double waves = std::ceil(blocks / sms) * sms / blocks;
  const bool tiled = row_loads(op) == row_loads(with_aligned_rows(op));
  const bool best = tiled && op.as<AttentionSizes>().seq % 8 == 0;
  t.add((bytes(op) / gpu.hbm).value);
  t.add(best ? work : 0);
  t.add(best ? work * waves : 0);
  t.add(best ? plain / head_dim * 64 : 0);  // the softmax
  t.add(best ? longest_block(op) * sms / rate : 0);
  t.add(best && head_dim > 128 ? work : 0);
  t.add(tiled ? blocks * kBlock * 1e-9 : 0);  // rows
  t.add(tiled && !best ? plain : 0);
  t.add(tiled && !best ? plain / head_dim * 64 : 0);
  t.add(tiled ? 0 : scores * kWrittenOut / gpu.hbm.value);
}

void add_attention_terms(Terms& t, const Operator& op, const Gpu& gpu) {
  if (op.impl == Impl::kMasked) return add_masked_terms(t, op, gpu);
  const auto [batch, heads, kv_heads, seq, head_dim] = real_sizes<5>(op);
  const double rate = gpu.rate(op.dtype).value, sms = static_cast<double>(gpu.sms);
  const double pad = padded(op) / head_dim;
  const double work = flops(op).value * pad / rate;
  const double n = std::ceil(seq / kBlock);
  const double blocks = batch * heads * n;
  t.add(work);
  t.add((bytes(op) / gpu.hbm).value);
  t.add(work * std::ceil(blocks / sms) * sms / blocks);  // full waves only
  t.add(work * n * kBlock / seq);                        // the last block of queries is padded
  t.add(flops(op).value / head_dim * 64 / rate);         // the softmax: scores, whatever head_dim
  t.add(work * (n + 1) / n);                             // blocks on the diagonal are worked off whole
  t.add(blocks * kBlock * 1e-9);                         // rows
  t.add(longest_block(op) * sms / rate);
  t.add(head_dim > 128 ? work : 0);  // wide heads: other kernels, or smaller blocks
  // Gradients of shared keys and values are made for each head of queries, and summed.
  const double queries = batch * heads * seq * head_dim * bytes_of(op.dtype);
  t.add(!is_forward(op) && heads > kv_heads ? queries / gpu.hbm.value : 0);
}

void add_attention_features(Features& f, const Operator& op, const Gpu& gpu) {
  constexpr double kScales[] = {0, 0, 0, 0.2, 0};
  const auto [batch, heads, kv_heads, seq, head_dim] = real_sizes<5>(op);
  const double sms = static_cast<double>(gpu.sms), blocks = batch * heads * std::ceil(seq / kBlock);
  const auto sizes = op.as<AttentionSizes>();
  add_work_features(f, op, 0);
  add_size_features(f, op, kScales);
  f.add(head_dim / padded(op), 1);
  f.add(padded(op), 1.0 / 64);
  f.add(blocks / sms / std::ceil(blocks / sms), 0.3);
  f.add(alignment(sizes.head_dim), 0.15);
  f.add(alignment(sizes.seq), 0.03);
  f.add(log2_of(batch * heads), 0.15);
  f.add(log2_of(heads / kv_heads), 0.1);
  f.add(heads > kv_heads, 0.2);
  f.add(std::min(log2_of(blocks / sms), 6.0), 0.15);
  f.add(std::log2(1 + longest_block(op) * sms / flops(op).value), 0.5);
  if (op.impl != Impl::kMasked) return;
  f.add(sizes.seq % 8 != 0, 1);
  f.add(head_dim > 128, 1);
  f.add(row_loads(op) != row_loads(with_aligned_rows(op)), 3);
}

// mma.sync issues 2048 operations a clock and SM, Ampere's rate, also on later parts (FlashAttention 2 reaches
// 35 % of an H100: Shah et al. 2024, arXiv 2407.08608). Heads that are no multiple of 16 bytes have no other kernel:
// cuDNN and FlashAttention 3 ask for it, PyTorch pads them for FlashAttention 2.
FlopsPerSecond tiled_rate(const Operator& op, const Gpu& gpu) {
  const FlopsPerSecond rate = gpu.rate(op.dtype);
  const Impl kernel = attention_kernel(op.impl, gpu);
  if (kernel != Impl::kFlash && kernel != Impl::kTriton && row_loads(op) == 2) return rate;
  return std::min(rate, FlopsPerSecond(2048.0 * gpu.clock_max_mhz * 1e6 * static_cast<double>(gpu.sms)));
}

double slower_than_best(const Operator& op) {
  if (op.impl == Impl::kMasked) return kMaskedSlower;
  if (op.impl == Impl::kTriton) return is_forward(op) ? kTritonForward : kTritonBackward;
  return 1.0;
}

// Tiled attention reaches about 0.7 of what products do forward, 0.55 backward at head_dim 128, and less for
// narrower heads, whose softmax weighs more (Dao 2023, figures 4 to 6).
Seconds attention_time(const Operator& op, const Gpu& gpu) {
  const double head = std::min(1.0, 0.5 + static_cast<double>(op.as<AttentionSizes>().head_dim) / 256);
  const double share = (is_forward(op) ? 0.70 : 0.55) * head;
  const FlopsPerSecond rate = tiled_rate(op, gpu);
  return flops(op) / (rate * gpu.product_efficiency * share) * slower_than_best(op);
}

// Latent attention: half of the square of scores; forward two products, one as wide as a key and one as a
// value; backward the scores again and the gradients of queries and keys, those of probabilities and values.
struct LatentShape {
  double batch, heads, seq, qk, v;
  explicit LatentShape(const Operator& op) {
    const auto sizes = real_sizes<5>(op);
    batch = sizes[0], heads = sizes[1], seq = sizes[2], qk = sizes[3], v = sizes[4];
  }
  double rows() const { return batch * heads * seq; }
  double blocks() const { return batch * heads * std::ceil(seq / kBlock); }
  double widths(const Operator& op) const { return is_forward(op) ? qk + v : 3 * qk + 2 * v; }
};

Flops latent_flops(const Operator& op) {
  const LatentShape s(op);
  return Flops(s.widths(op) * s.rows() * span_of(op, s.seq));
}

double latent_made_once(const Operator& op) {
  const LatentShape s(op);
  return op.pass == PassKind::kBackward ? 2 * (s.qk + s.v) / s.widths(op) : 1.0;
}

Bytes latent_bytes(const Operator& op) {  // q, k, v and the output; backward with all gradients
  const LatentShape s(op);
  return Bytes(bytes_of(op.dtype) * s.rows() * (2 * s.qk + 2 * s.v) * (is_forward(op) ? 1 : 2));
}
double least_latent_bytes(const Operator& op) { return latent_bytes(op).value; }

int latent_row_loads(const Operator& op) {
  const auto sizes = op.as<LatentAttentionSizes>();
  return std::min(row_loads(sizes.qk_dim), row_loads(sizes.v_dim));
}

void align_latent_heads(Operator& op) {
  auto sizes = op.as<LatentAttentionSizes>();
  sizes.qk_dim = aligned_row(sizes.qk_dim);
  sizes.v_dim = aligned_row(sizes.v_dim);
  op.set(sizes);
}

Bytes latent_made(const Operator& op) {
  const LatentShape s(op);
  return Bytes(bytes_of(op.dtype) * s.rows() * (is_forward(op) ? s.v : s.qk));
}
Bytes latent_working(const Operator& op) {
  const LatentShape s(op);
  return Bytes(bytes_of(op.dtype) * s.rows() * (is_forward(op) ? s.v : 2 * s.qk + 2 * s.v));
}

double latent_longest_block(const Operator& op) {
  const LatentShape s(op);
  return 2 * s.widths(op) * kBlock * s.seq;
}

void add_latent_terms(Terms& t, const Operator& op, const Gpu& gpu) {
  const LatentShape s(op);
  const double rate = gpu.rate(op.dtype).value, sms = static_cast<double>(gpu.sms);
  const double work = flops(op).value / rate, n = std::ceil(s.seq / kBlock), blocks = s.blocks();
  t.add(work);
  t.add((bytes(op) / gpu.hbm).value);
  t.add(work * std::ceil(blocks / sms) * sms / blocks);  // full waves only
  t.add(s.rows() * s.seq * 128 / rate);                  // the softmax: scores, whatever the widths
  t.add(work * (n + 1) / n);                             // blocks on the diagonal are worked off whole
  t.add(blocks * kBlock * 1e-9);                         // rows
  t.add(latent_longest_block(op) * sms / rate);
  t.add(s.qk > 128 ? work : 0);  // wide heads: other kernels, or smaller blocks
}

void add_latent_features(Features& f, const Operator& op, const Gpu& gpu) {
  constexpr double kScales[] = {0, 0, 0.2, 0, 0};
  const LatentShape s(op);
  const double sms = static_cast<double>(gpu.sms), blocks = s.blocks();
  const auto sizes = op.as<LatentAttentionSizes>();
  add_work_features(f, op, 0);
  add_size_features(f, op, kScales);
  f.add(s.qk, 1.0 / 64);
  f.add(s.v / s.qk, 1);
  f.add(blocks / sms / std::ceil(blocks / sms), 0.3);
  f.add(alignment(sizes.seq), 0.03);
  f.add(log2_of(s.batch * s.heads), 0.15);
  f.add(std::min(log2_of(blocks / sms), 6.0), 0.15);
  f.add(std::log2(1 + latent_longest_block(op) * sms / flops(op).value), 0.5);
}

// Like attention of one width, the mean of both.
Seconds latent_time(const Operator& op, const Gpu& gpu) {
  const LatentShape s(op);
  const double head = std::min(1.0, 0.5 + (s.qk + s.v) / 512);
  const double share = (is_forward(op) ? 0.70 : 0.55) * head;
  return flops(op) / (tiled_rate(op, gpu) * gpu.product_efficiency * share);
}

// Attention as wide as its keys.
void set_equal_widths(const Operator& op, Operator& relative) {
  const auto s = op.as<LatentAttentionSizes>();
  relative.set(AttentionSizes{.batch = s.batch,
                              .heads = s.heads,
                              .kv_heads = s.heads,
                              .seq = s.seq,
                              .head_dim = s.qk_dim,
                              .causal = std::max<std::int64_t>(s.causal, 1)});
}
constexpr Relative kLatentRelatives[] = {
    {Impl::kSdpa, OperatorKind::kAttention, Impl::kSdpa, set_equal_widths},
    {Impl::kFlash, OperatorKind::kAttention, Impl::kFlash, set_equal_widths}};
constexpr Relative kRelatives[] = {{Impl::kTriton, OperatorKind::kAttention, Impl::kFlash},
                                   {Impl::kMasked, OperatorKind::kAttention, Impl::kSdpa}};

constinit const Description kTable[] = {
    {.kind = OperatorKind::kAttention,
     .size_names = AttentionSizes::kNames,
     .usual_impl = Impl::kSdpa,
     .set_defaults = set_attention_defaults,
     .check_sizes = check_heads,
     .flops = attention_flops,
     .useful_share = made_once,
     .bytes = attention_bytes,
     .usual_launches = attention_launches,
     .row_loads = attention_row_loads,
     .align_rows = align_heads,
     .least_bytes = least_attention_bytes,
     .made_bytes = attention_made,
     .working_bytes = attention_working,
     .add_terms = add_attention_terms,
     .add_features = add_attention_features,
     .relatives = kRelatives,
     .compute_time = attention_time,
     .analytic_spread = 0.3},
    {.kind = OperatorKind::kLatentAttention,
     .size_names = LatentAttentionSizes::kNames,
     .usual_impl = Impl::kSdpa,
     .flops = latent_flops,
     .useful_share = latent_made_once,
     .bytes = latent_bytes,
     .usual_launches = attention_launches,
     .row_loads = latent_row_loads,
     .align_rows = align_latent_heads,
     .least_bytes = least_latent_bytes,
     .made_bytes = latent_made,
     .working_bytes = latent_working,
     .add_terms = add_latent_terms,
     .add_features = add_latent_features,
     .relatives = kLatentRelatives,
     .compute_time = latent_time,
     .analytic_spread = 0.3},
};

}  // namespace

constinit const std::span<const Description> kAttentions = kTable;

Impl attention_kernel(Impl impl, const Gpu& gpu) {
  // On parts that are not NVIDIA's as before them: what their libraries have stands in for cuDNN's.
  const bool blackwell = gpu.architecture == Architecture::kBlackwell;
  const bool hopper = gpu.architecture >= Architecture::kHopper;
  switch (impl) {
    case Impl::kCudnn:
    case Impl::kFlash3:
      return hopper ? Impl::kSdpa : Impl::kFlash;
    case Impl::kFlashFirst:
      return blackwell ? Impl::kSdpa : Impl::kFlash;
    default:
      return impl;
  }
}

bool has_span(const Operator& op) { return is_attention(op.kind) && op.flat()[kCausalSize] > 1; }

WholeSequences whole_sequences(const Operator& op) {
  WholeSequences whole{op};
  const auto change = [&](auto sizes, std::int64_t plain) {
    const double tokens = static_cast<double>(sizes.batch * sizes.seq);
    sizes.seq = sizes.causal;
    sizes.batch = std::max<std::int64_t>(1, std::llround(tokens / static_cast<double>(sizes.seq)));
    sizes.causal = plain;
    whole.share = tokens / static_cast<double>(sizes.batch * sizes.seq);
    whole.op.set(sizes);
  };
  if (op.kind == OperatorKind::kAttention)
    change(op.as<AttentionSizes>(), 1);
  else
    change(op.as<LatentAttentionSizes>(), 0);
  return whole;
}

std::int64_t padded_head_dim(std::int64_t head_dim) {
  for (const std::int64_t built : {32, 64, 96, 128, 160, 192, 224, 256})
    if (head_dim <= built) return built;
  return (head_dim + 63) / 64 * 64;
}

}  // namespace foretrain
