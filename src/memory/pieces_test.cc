// Bytes of work in pieces, by closed forms.
#include "workload/pieces.h"

#include <doctest/doctest.h>

#include "memory/memory.h"
#include "operators/product.h"
#include "operators/softmax.h"
#include "workload/testing.h"
#include "workload/workload.h"

using namespace foretrain;

namespace {

constexpr std::int64_t kTokens = 131072, kHidden = 4096, kVocab = 131072;
constexpr double kLogits = 1.0 * kTokens * kVocab, kStream = 1.0 * kTokens * kHidden;

// A vocabulary of 128k over 128k tokens.
Model long_model() {
  Model model;
  model.name = "long";
  model.hidden = kHidden;
  model.blocks = {{2, Block{{32, 8, 128}, {MlpKind::kSwiglu, 14336}}}};
  model.norm = Norm::kRmsnorm;
  model.positions = Positions::kRope;
  model.vocab = kVocab;
  return model;
}

ChunkWork work_of(const Plan& plan, const Chunk& chunk, const char* name = "generic") {
  const Model model = long_model();
  const Stack by = stack(name);
  return build_chunk(model, by, shape_of(model, plan, by, kTokens, false), chunk);
}

Plan with_loss(LossKind kind, std::int64_t chunks = 0) {
  Plan plan;
  plan.loss = kind;
  plan.loss_chunks = chunks;
  return plan;
}

Bytes kept_by(const ChunkWork& work, OperatorKind kind) {
  Bytes sum;
  for (const Repeat& repeat : work.forward.repeats)
    for (const Task& task : repeat.tasks)
      if (task.kind == Task::Kind::kOperator && task.op.kind == kind) sum += task.saved;
  return sum;
}

std::int64_t products(const Pass& pass, PassKind kind) {
  std::int64_t count = 0;
  for (const Repeat& repeat : pass.repeats)
    for (const Task& task : repeat.tasks)
      if (task.kind == Task::Kind::kOperator && task.op.kind == OperatorKind::kLinear && task.op.pass == kind)
        count += task.times * repeat.count;
  return count;
}

const Chunk kHead{0, false, true};

}  // namespace

TEST_CASE(
    "whole logits of 128k tokens and 128k words are 64 GiB in fp32, and as much again while they are made") {
  const ChunkWork work = work_of(Plan(), kHead);
  CHECK(kept_by(work, OperatorKind::kCrossEntropy) == Bytes(4 * kLogits));
  CHECK(kept_by(work, OperatorKind::kLinear) == Bytes(2 * kStream));
  const PassBytes bytes = pass_bytes(work);
  CHECK(bytes.forward_extra + bytes.held >= Bytes(8 * kLogits));
}

TEST_CASE("chunked: of 16 pieces the logits of one are there at once") {
  const ChunkWork work = work_of(with_loss(LossKind::kChunked, 16), kHead);
  CHECK(kept_by(work, OperatorKind::kCrossEntropy) == Bytes(0));
  CHECK(kept_by(work, OperatorKind::kLinear) == Bytes(2 * kStream));  // the gradient of the head's input
  const PassBytes bytes = pass_bytes(work);
  // The fp32 copy that whole ones keep, and the logits or their gradient while they are made.
  CHECK(bytes.forward_extra >= Bytes(8 * kLogits / 16));
  CHECK(bytes.forward_extra < Bytes(9 * kLogits / 16));
}

TEST_CASE("fused: logits of one piece in half precision, and the gradient of the head's weights") {
  const ChunkWork work = work_of(with_loss(LossKind::kFused), kHead);
  // Liger: the vocabulary is 32 times as wide as the residual stream, so 32 pieces of 4096 tokens.
  CHECK(loss_pieces({LossKind::kFused, 0}, kTokens, kHidden, kVocab) == 32);
  CHECK(loss_pieces({LossKind::kFused, 0}, 8192, 4096, 128256) == 32);  // 256 tokens each
  CHECK(loss_pieces({LossKind::kFused, 0}, 1000, 4096, 32000) == 8);    // 128, a power of two
  CHECK(kept_by(work, OperatorKind::kLinear) == Bytes(2 * kStream + 2.0 * kHidden * kVocab));
  CHECK(kept_by(work, OperatorKind::kCrossEntropy) == Bytes(0));
  CHECK(pass_bytes(work).forward_extra == Bytes(2 * kLogits / 32 + 2 * kStream / 32));
}

TEST_CASE("a stack that keeps the logits has fp32 of one piece at a time") {
  const Model model = long_model();
  Stack by = stack("torchtitan");
  by.loss.keeps_logits = true;
  const PassShape shape = shape_of(model, with_loss(LossKind::kChunked, 8), by, kTokens, false);
  const ChunkWork work = build_chunk(model, by, shape, kHead);
  CHECK(kept_by(work, OperatorKind::kCrossEntropy) == Bytes(2 * kLogits));
  CHECK(kept_by(work, OperatorKind::kLinear) == Bytes(2 * kStream));
  CHECK(pass_bytes(work).forward_extra == Bytes(4 * kLogits / 8));
  CHECK(products(work.backward, PassKind::kInput) == 8);
}

TEST_CASE("pieces do the same products, the backward's in the forward") {
  const ChunkWork whole = work_of(Plan(), kHead);
  CHECK(products(whole.backward, PassKind::kInput) == 1);
  for (const LossKind kind : {LossKind::kChunked, LossKind::kFused}) {
    const ChunkWork work = work_of(with_loss(kind, 16), kHead);
    for (const PassKind pass : {PassKind::kForward, PassKind::kInput, PassKind::kWeight})
      CHECK(products(work.forward, pass) == 16);
    CHECK(products(work.backward, PassKind::kInput) == 0);
    CHECK(products(work.backward, PassKind::kWeight) == 0);
    CHECK(flops(work.forward).value + flops(work.backward).value ==
          doctest::Approx(flops(whole.forward).value + flops(whole.backward).value));
  }
}

TEST_CASE("tensor ranks agree on every piece's loss") {
  Plan plan = with_loss(LossKind::kChunked, 4);
  plan.tp = 8;
  const ChunkWork work = work_of(plan, kHead);
  std::int64_t exchanges = 0;
  Bytes bytes;
  for (const Task& task : work.forward.repeats.back().tasks)
    if (task.kind == Task::Kind::kCollective && task.collective.kind == CollectiveKind::kAllReduce) {
      exchanges += task.times;
      bytes += task.collective.bytes * static_cast<double>(task.times);
    }
  CHECK(exchanges == 3 * 4);
  CHECK(bytes == Bytes(3 * 4.0 * kTokens));
}

TEST_CASE("a tiled MLP keeps its input alone, and runs forward again piece by piece") {
  const Chunk layer = Chunk::of_kind(0, 1);
  Plan plan;
  const ChunkWork whole = work_of(plan, layer);
  plan.mlp_chunks = 8;
  const ChunkWork tiled = work_of(plan, layer);
  // Generic keeps gate and up and their product besides: three times as wide as the MLP.
  const double ffn = 2.0 * kTokens * 14336;
  CHECK(saved_bytes(whole.forward) - saved_bytes(tiled.forward) == Bytes(3 * ffn));
  // One piece of them is there while the piece is at work.
  CHECK(pass_bytes(tiled).backward_extra >= Bytes(3 * ffn / 8));
  CHECK(pass_bytes(tiled).backward_extra < pass_bytes(whole).backward_extra + Bytes(3 * ffn / 8));
  // Three or two products of an MLP, eight times, forward and again in the backward; each way back once.
  const std::int64_t of_mlp =
      products(whole.forward, PassKind::kForward) - 2;  // q, k, v in one, and the projection
  CHECK(products(tiled.forward, PassKind::kForward) == 2 + 8 * of_mlp);
  CHECK(products(tiled.backward, PassKind::kForward) == 8 * of_mlp);
  CHECK(products(tiled.backward, PassKind::kWeight) == 2 + 8 * of_mlp);
  // With the layer run again besides, its forward is run three times.
  plan.recompute = Recompute::kFull;
  CHECK(products(work_of(plan, layer).backward, PassKind::kForward) == 2 + 2 * 8 * of_mlp);
}
