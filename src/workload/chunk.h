// A pipeline chunk: which part of the model it holds.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <span>

#include "job/precision.h"
#include "spec/model.h"
#include "spec/stack.h"

namespace foretrain {

// What a chunk is made of; with the shape, everything that its passes depend on. Layers are counted by kind
// (BlockKinds) and run kind by kind: the order of a model's layers inside a chunk is left out, which changes
// how far the host runs ahead, by a per cent or two.
struct Chunk {
  std::array<std::int32_t, kMaxBlockKinds> layers{};
  // Of these, those among the first that are run again (recompute_layers), where there are several kinds; of
  // one kind the first are as good as any.
  std::array<std::int32_t, kMaxBlockKinds> again{};
  // And those that stay in the format of the passes, where other layers' products are in fewer bits. Of what is run
  // again they are the first, as at a model's start.
  std::array<std::int32_t, kMaxBlockKinds> plain{};
  bool first = false;  // holds the embedding
  bool last = false;   // holds the final norm, the head and the loss

  Chunk() = default;
  // So many layers of the model's first kind.
  Chunk(std::int64_t layers_of_first_kind, bool is_first, bool is_last) : first(is_first), last(is_last) {
    layers[0] = static_cast<std::int32_t>(layers_of_first_kind);
  }
  static Chunk of_kind(std::size_t kind, std::int64_t count, bool is_plain = false) {
    Chunk chunk;
    chunk.layers[kind] = static_cast<std::int32_t>(count);
    if (is_plain) chunk.plain = chunk.layers;
    return chunk;
  }

  // Says which of its layers stay in the format of the passes, the first of which is layer `begin` of the model's; kinds of
  // all the model's layers, none: they are of one.
  void mark_plain(std::int64_t begin, std::int64_t model_layers, std::span<const std::uint8_t> kinds,
                  const LowPrecision& low);

  std::int64_t all_layers() const { return std::accumulate(layers.begin(), layers.end(), std::int64_t{0}); }
  bool operator==(const Chunk&) const = default;
};

// Layers of a kind in a chunk: the last also has those of multi-token prediction, which are like the model's
// last layer.
std::int64_t layers_of(const Model& model, const Stack& stack, const Chunk& chunk, std::size_t kind);

// Every layer, without the ends.
Chunk all_layers_of(const Model& model, const LowPrecision& low = {});

}  // namespace foretrain
