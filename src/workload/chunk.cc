#include "workload/chunk.h"

#include "job/choices.h"

namespace foretrain {

std::int64_t layers_of(const Model& model, const Stack& stack, const Chunk& chunk, std::size_t kind) {
  const std::int64_t more = chunk.last ? mtp_layers_of(model, stack) : 0;
  const bool here = more > 0 && BlockKinds(model).of(model.blocks.back().block) == kind;
  return chunk.layers[kind] + (here ? more : 0);
}

void Chunk::mark_plain(std::int64_t begin, std::int64_t model_layers, std::span<const std::uint8_t> kinds,
                       const LowPrecision& low) {
  plain.fill(0);
  if (!low.leaves_layers()) return;
  const std::int64_t end = begin + all_layers();
  for (std::int64_t layer = begin; layer < end; ++layer)
    if (low.leaves(layer, model_layers)) ++plain[kinds.empty() ? 0 : kinds[static_cast<std::size_t>(layer)]];
}

Chunk all_layers_of(const Model& model, const LowPrecision& low) {
  Chunk chunk;
  const BlockKinds kinds(model);
  for (const BlockRun& run : model.blocks)
    chunk.layers[kinds.of(run.block)] += static_cast<std::int32_t>(run.count);
  if (low.leaves_layers()) chunk.mark_plain(0, model.layers(), model.kind_of_layers(), low);
  return chunk;
}

}  // namespace foretrain
