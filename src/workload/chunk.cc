#include "workload/chunk.h"

#include "job/choices.h"

namespace foretrain {

std::int64_t layers_of(const Model& model, const Stack& stack, const Chunk& chunk, std::size_t kind) {
  const std::int64_t more = chunk.last ? mtp_layers_of(model, stack) : 0;
  const bool here = more > 0 && BlockKinds(model).of(model.blocks.back().block) == kind;
  return chunk.layers[kind] + (here ? more : 0);
}

Chunk all_layers_of(const Model& model) {
  Chunk chunk;
  const BlockKinds kinds(model);
  for (const BlockRun& run : model.blocks)
    chunk.layers[kinds.of(run.block)] += static_cast<std::int32_t>(run.count);
  return chunk;
}

}  // namespace foretrain
