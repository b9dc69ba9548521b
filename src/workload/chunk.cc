#include "workload/chunk.h"

namespace foretrain {

Chunk all_layers_of(const Model& model) {
  Chunk chunk;
  const BlockKinds kinds(model);
  for (const BlockRun& run : model.blocks)
    chunk.layers[kinds.of(run.block)] += static_cast<std::int32_t>(run.count);
  return chunk;
}

}  // namespace foretrain
