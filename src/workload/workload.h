// From a model, a stack and the shape of its passes to the work of one pipeline chunk.
//
// A block is written down once, forward, as the stack's operators with Megatron's two conjugate
// communication points between them (Shoeybi et al. 2019, arXiv 1909.08053; Korthikanti et al. 2022,
// arXiv 2205.05198):
//   f, before a column-parallel product:  forward nothing,    backward all-reduce
//                              with sp:   forward all-gather, backward reduce-scatter
//   g, after a row-parallel product:      forward all-reduce, backward nothing
//                              with sp:   forward reduce-scatter, backward all-gather
// The backward is that list reversed, each product once to its inputs (B) and once to its weights (W), with
// the recomputation that is asked for in front.
#pragma once

#include <cstdint>
#include <vector>

#include "workload/pass.h"
#include "workload/pass_shape.h"

namespace foretrain {

// What a chunk is made of; with the shape, everything that its passes depend on.
struct Chunk {
  std::int64_t layers = 0;
  bool first = false;  // holds the embedding
  bool last = false;   // holds the final norm, the head and the loss

  bool operator==(const Chunk&) const = default;
};

struct ChunkWork {
  Pass forward;
  Pass backward;         // B and W tasks in the order in which autograd runs them
  Bytes gathered;        // most weights that a pass has gathered at once (ZeRO 3)
  Bytes unit_gradients;  // and gradients of the largest unit, before they are scattered (ZeRO 2 and 3)
  Bytes offloaded;       // what blocks keep in the host's memory
  Bytes offload_window;  // and of it here: the layer at work and the one on its way
  Bytes shared_buffers;  // whole activations that sp gathers into, kept from pass to pass
  // What products' W need when their B are over: their inputs and the gradients of their outputs.
  Bytes held_for_weight;
};
ChunkWork build_chunk(const Model& model, const Stack& stack, const PassShape& shape, const Chunk& chunk);

// Trained numbers that one rank of a chunk holds, before any ZeRO sharding. A tied head on the last of
// several ranks is a second copy of the embedding, unless one rank holds both ends of the model.
struct ParameterShare {
  std::int64_t elements = 0;
  std::int64_t tensors = 0;
  std::int64_t embedding_elements = 0;  // of these, the tied embedding that first and last stage share
  std::int64_t matrix_elements = 0;     // of these, in the blocks' matrices
  std::int64_t largest_matrix = 0;      // elements of the largest of these
  std::int64_t largest_tensor = 0;      // likewise with the ends of the model

  bool operator==(const ParameterShare&) const = default;
};
ParameterShare parameter_share(const Model& model, const Stack& stack, std::int64_t tp, const Chunk& chunk,
                               bool ends_together);

// The optimizer's step of a rank that holds `elements` gradients and updates `owned` of them (fewer under
// ZeRO), in `tensors` tensors. Gradients are zeroed all; everything else is done to what it owns. What Muon
// iterates on is not timed: its step is that of AdamW.
struct UpdateFormat {
  Dtype precision = Dtype::kBf16;
  Dtype grad_dtype = Dtype::kFp32;
  std::int64_t moment_width = 4;  // see moment_bytes(), operators/optimizer.h
  bool master = true;             // an fp32 copy of the weights, or weights that are kept in fp32

  bool operator==(const UpdateFormat&) const = default;
};
UpdateFormat update_format(const Choices& choices);
Pass build_optimizer(const Stack& stack, const UpdateFormat& format, std::int64_t elements,
                     std::int64_t owned, std::int64_t tensors);

std::int64_t padded_vocab(const Model& model, const Stack& stack, std::int64_t tp);

// Layers of each chunk by the stack's rule, which deals them over all chunks of all stages in the model's
// order.
std::vector<std::int64_t> split_layers(const Model& model, StageSplit rule, std::int64_t chunks);

}  // namespace foretrain
