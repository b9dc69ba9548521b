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
#include <unordered_map>

#include "workload/chunk.h"
#include "workload/pass.h"
#include "workload/pass_shape.h"

namespace foretrain {

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

// A block or an end of the model, once, with what it adds to its chunk's bytes.
struct WrittenUnit {
  Repeat forward;
  Repeat backward;
  Bytes held_for_weight;
  Bytes offloaded;
  Bytes gathered;
  Bytes unit_gradients;
};

// Units of one shape, by what tells them apart: chunks of many sizes are put together of the same few, and those
// with other numbers of layers to run again too (see units_shape).
using WrittenUnits = std::unordered_map<std::uint32_t, WrittenUnit>;

// What units hang on: shapes that are equal in this share them.
PassShape units_shape(const PassShape& shape);

// `units` are of this shape, and get what they do not have yet.
ChunkWork build_chunk(const Model& model, const Stack& stack, const PassShape& shape, const Chunk& chunk,
                      WrittenUnits& units);
ChunkWork build_chunk(const Model& model, const Stack& stack, const PassShape& shape, const Chunk& chunk);

}  // namespace foretrain
