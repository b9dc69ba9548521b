// How layers are dealt over the chunks of pipeline stages.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "job/pipeline.h"
#include "spec/model.h"
#include "spec/stack.h"

namespace foretrain {

// Layers of each chunk by the stack's rule, which deals them over all chunks of all stages in the model's
// order.
std::vector<std::int64_t> split_layers(const Model& model, StageSplit rule, std::int64_t chunks);

// Of what a plan states by stage: evenly over the stage's chunks, the first ones first.
void deal_over_chunks(std::span<const std::int64_t> stages, const Pipeline& pipeline,
                      std::vector<std::int64_t>& chunks);

// Layers of each chunk as a plan has them: stated by chunk or by stage, or (empty) by the rule.
std::vector<std::int64_t> layers_by_chunk(const Model& model, StageSplit rule, const Pipeline& pipeline,
                                          std::span<const std::int64_t> stated);

}  // namespace foretrain
