// One block, or the ends of the model, as a forward list of items: operators, and exchanges between ranks.
// Forward and backward passes are both made from it (see workload.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "operators/operator.h"
#include "workload/collective.h"
#include "workload/pass_shape.h"

namespace foretrain {

// A point where the ranks of a group exchange activations: a collective forward, its conjugate backward, or
// either alone.
struct Exchange {
  GroupKind group = GroupKind::kTensor;
  std::optional<CollectiveKind> forward;
  std::optional<CollectiveKind> backward;
  Bytes bytes;
  std::int64_t times = 1;  // so often in a row
  // Of tokens that a router sends: among so many experts, to so many each.
  std::int32_t experts = 0;
  std::int32_t top_k = 0;
  Bytes row;                // of one token
  Bytes gathered;           // by its all-gathers, where what they gather is in fewer bits; 0: as `bytes`
  std::int32_t groups = 0;  // of experts, and of these those of one token (spec/routing.h)
  std::int32_t group_limit = 0;
  bool hidden = false;  // nothing of this micro-batch runs meanwhile, but another's work does
  // What comes out is the input of the product that follows. Backward it runs beside that product's W; what
  // was gathered can be dropped after the forward, and gathered again for W.
  bool enters = false;
};

// Rows in all, and what goes in and comes out of each.
struct ProductSizes {
  double m = 0, k = 0, n = 0;
};

struct BlockItem {
  std::optional<Exchange> exchange;                  // in place of an operator
  Operator op;                                       // its forward
  std::array<std::int64_t, 3> launches = {1, 1, 1};  // forward, backward, to weights
  std::int64_t times = 1;
  std::int64_t reads = 0;  // forward, the host reads so often what the GPU has made
  Bytes saved;
  std::optional<std::array<Bytes, 2>> extra;  // held on top while it runs, forward and backward
  Bytes selective_saved;                      // under selective recomputation
  Bytes saved_input;                          // of what is saved, what came in
  bool selective = false;
  bool has_backward = true;
  bool waits = false;     // in place of an operator: the host waits for the GPU, forward
  bool beside = false;    // runs while the exchange before it does
  bool captured = false;  // part of a CUDA graph of its layer
  // Of tokens, which it works on one after the other: `times` counts them, sizes are of one (pieces.h).
  std::int64_t pieces = 1;
  bool tiled = false;         // each run again in the backward
  bool early = false;         // each with its backward right after its forward
  std::int64_t adapters = 0;  // beside it, frozen; they need its input
  bool narrow = false;        // a product with operands in fewer bits, whose backward runs in these:
  Dtype input_dtype = Dtype::kBf16;
  Dtype weight_dtype = Dtype::kBf16;
  bool over_tensor =
      false;  // of an `amax` of a shard: the largest of all tensor ranks is taken, a number each

  // A product with weights, whose backward to them is a pass of its own.
  bool has_weights() const {
    return !exchange && !waits &&
           (op.kind == OperatorKind::kLinear || op.kind == OperatorKind::kGroupedProduct);
  }
  // Of operands in fewer bits: a forward operator wherever it runs.
  bool is_cast() const {
    return !exchange && !waits &&
           (op.kind == OperatorKind::kQuantise || op.kind == OperatorKind::kAmax ||
            op.kind == OperatorKind::kTranspose);
  }
  // Of one that has weights:
  ProductSizes product() const;
  std::int64_t matrices() const;
  bool enters() const { return exchange && exchange->enters; }
};

// The exchange that the input of a product, items[i], came through: it stands before it and its casts. None: null.
const Exchange* entered_through(const std::vector<BlockItem>& items, std::size_t i);
// The exchange that adds up what the product items[i] made, under sp; it stands behind it and its casts. None: null.
const Exchange* left_through(const std::vector<BlockItem>& items, std::size_t i);
// Whether what comes out of the exchange items[i] goes into a product, through its casts.
bool enters_product(const std::vector<BlockItem>& items, std::size_t i);

std::vector<BlockItem> embedding_items(const Model& model, const Stack& stack, const PassShape& shape);
std::vector<BlockItem> block_items(const Model& model, const Stack& stack, const PassShape& shape,
                                   const Block& block);
// What multi-token prediction adds to a layer: embedding, joined, before it, head and loss after it.
std::vector<BlockItem> mtp_items(const Model& model, const Stack& stack, const PassShape& shape);
std::vector<BlockItem> head_items(const Model& model, const Stack& stack, const PassShape& shape);

}  // namespace foretrain
