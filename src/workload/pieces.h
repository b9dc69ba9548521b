// Work on long sequences in pieces of tokens: the same products, each of fewer rows, so that what lies between them
// is there for one piece at a time.
//
//   the MLP     (TiledMLP of ALST, Bekman et al. 2025, arXiv 2506.13996): of all that it keeps the input alone stays;
//               in the backward each piece runs forward again, then backward
//   the loss    chunked: head and loss of a piece forward, then backward at once, as torchtitan's ChunkedCELoss has
//               it; fused: one kernel puts the gradient where the logits were (Liger Kernel, arXiv 2410.10989). Both
//               make the gradient of the head's input and add to that of its weights in the forward; nothing is
//               run again. A stack that keeps the logits of all pieces makes fp32 of one at a time, no more.
//
// With t tokens, h wide, a vocabulary of v, n pieces and two bytes a value, what is kept and the most beside it:
//   whole, as PyTorch has it     2 t h + 4 t v        4 t v
//   chunked                      2 t h                8 t v / n
//   fused                        2 t h + 2 h v        2 t v / n
#pragma once

#include <cstdint>
#include <span>

#include "workload/block.h"

namespace foretrain {

// As many as the plan says; of a fused loss by Liger's rule: as many as the vocabulary is wider than the residual
// stream, of tokens that are a power of two.
std::int64_t loss_pieces(const LossChoices& loss, std::int64_t tokens, std::int64_t hidden,
                         std::int64_t vocab);

// The loss of Liger: logits in, their gradient out in their place.
const Part& fused_loss();

// Of items that were written for one piece, each as many times as there are pieces.
void tile(std::span<BlockItem> mlp);
void work_in_pieces(std::span<BlockItem> head_and_loss, const LossChoices& loss);

}  // namespace foretrain
