// The sizes of attention on one rank: which queries meet which keys, and what that reads, makes and keeps. Windows
// and documents leave a query fewer keys than its sequence has: the operator then states the span of causal
// sequences with as many tiles of scores (job/packing.h). A rank that has a share of a sequence's queries would
// state their number as `seq`, and the span of the whole sequence.
#pragma once

#include "operators/operator.h"
#include "spec/model.h"
#include "workload/amounts.h"
#include "workload/pass_shape.h"
#include "workload/widths.h"

namespace foretrain {

// One layer's attention, in passes of this shape.
struct AttentionHere {
  const Model& model;
  const Attention& attention;
  const PassShape& shape;
  const Widths& widths;
};

// Attention in one kernel, latent or not. Where its mask is a tensor (Impl::kMasked) it works off the whole square of
// scores, with keys and values repeated for each head of queries.
Amounts set_attention(Operator& op, const AttentionHere& at);

// Of unfused attention: queries times keys make scores; probabilities times values make the output.
Amounts set_score_product(Operator& op, const AttentionHere& at, bool makes_scores);

}  // namespace foretrain
