// Attention over sequences that context ranks share. Each of n ranks has two of 2n pieces of every sequence,
// one from either end, so that all have as many pairs of queries and keys, s^2 / 2n of a sequence of s tokens.
//
//   ring      n blocks of s/n tokens: first a rank's own, causal, then those of the others, in each of which half
//             of the pairs count: all queries against half of the keys, or half of them against all. Keys and
//             values go on to the neighbour beside the work on a block: n - 1 messages forward; backward they go
//             round again, and the sums of their gradients with them: n messages, of which all but the first and
//             the last hold both.
//   a2a       queries, keys and values of this rank's tokens for those of all tokens and a share of the heads,
//             and attention's output back; backward the output and its gradient there, three gradients back.
//   gather    keys and values of all tokens, against this rank's queries; gathered again for the backward, at
//             whose end the sums of their gradients are scattered.
//   both      a2a among neighbours, then a ring of these groups with their heads.
//
// Bytes that a rank sends, of K and V for the whole sequence and of Q, the output as long:
//   ring      forward (n-1)/n (K + V)              backward twice that
//   gather    forward (n-1)/n (K + V)              backward twice that
//   a2a       forward (n-1)/n (Q + K + V + O)/n    backward (n-1)/n (Q + K + V + 2 O)/n
// As Transformer Engine does it (AttnFuncWithCPAndKVP2P, ...KVAllGather, ...QKVOA2A of its context_parallel.py);
// it keeps the partial outputs and the received blocks of a ring until the last is there.
#pragma once

#include <vector>

#include "workload/block.h"

namespace foretrain {

// Of this rank's tokens, in elements.
struct AttentionTensors {
  double q = 0, k = 0, v = 0, out = 0;
};

// Puts what context ranks do in place of `whole`, the attention of all tokens and of the tensor rank's heads.
void add_context_attention(const BlockItem& whole, const AttentionTensors& tensors,
                           const ContextChoices& context, std::vector<BlockItem>& items);

}  // namespace foretrain
