#include "operators/embedding.h"

#include <cmath>

#include "operators/features.h"
#include "operators/light.h"

namespace foretrain {
namespace {

// The backward goes through the tokens one by one up to so many; more are sorted first.
constexpr double kTokensUnsorted = 3072;

// A gather; the backward adds rows into a zeroed table.
Bytes embedding_bytes(const Operator& op) {
  const auto [tokens, width, vocab] = real_sizes<3>(op);
  const double a = bytes_of(op.dtype);
  return Bytes(is_forward(op) ? 2 * a * tokens * width : 3 * a * tokens * width + a * width * vocab);
}

double least_embedding_bytes(const Operator& op) {  // rows that come again may still be in the cache
  const auto [tokens, width, vocab] = real_sizes<3>(op);
  return bytes_of(op.dtype) * width * (tokens + (is_forward(op) ? 0 : vocab));
}

Bytes embedding_working(const Operator& op) {
  const auto [tokens, width, vocab] = real_sizes<3>(op);
  return Bytes(bytes_of(op.dtype) * (tokens * width + (is_forward(op) ? 0 : width * vocab)));
}

void add_embedding_terms(Terms& t, const Operator& op, const Gpu& gpu) {
  const auto [tokens, width] = real_sizes<2>(op);
  if (is_forward(op)) {
    add_row_terms(t, op, gpu);
    t.add(gather_blocks(op) * 1e-9);
    return;
  }
  const double added = tokens * width * 4 / gpu.hbm.value;  // rows added one by one
  add_light_terms(t, op, gpu, added);
  const bool sorted = tokens > kTokensUnsorted;
  t.add(sorted ? 1e-6 : 0);
  t.add(sorted ? added : 0);
  t.add(sorted ? 0 : tokens * std::ceil(width / 32 / (2 * static_cast<double>(gpu.sms))) * 1e-8);
}

void add_embedding_features(Features& f, const Operator& op, const Gpu&) {
  add_light_features(f, op);
  const auto [tokens] = real_sizes<1>(op);
  f.add(is_forward(op) ? log2_of(gather_blocks(op) / tokens) : tokens > kTokensUnsorted, 0.5);
}

constinit const Description kTable[] = {
    {.kind = OperatorKind::kEmbedding,
     .size_names = EmbeddingSizes::kNames,
     .usual_impl = Impl::kAten,
     .bytes = embedding_bytes,
     .least_bytes = least_embedding_bytes,
     .working_bytes = embedding_working,
     .add_terms = add_embedding_terms,
     .add_features = add_embedding_features,
     .stream_share = 0.7},
};

}  // namespace

constinit const std::span<const Description> kEmbeddings = kTable;

double gather_blocks(const Operator& op) {
  constexpr double kBytes = 256 * 16;
  const auto [tokens, width] = real_sizes<2>(op);
  const double row = width * bytes_of(op.dtype);
  return tokens * std::ceil(row / kBytes);
}

}  // namespace foretrain
