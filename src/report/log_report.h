// A training log as read (samples/training_log.h):
//
//   run.log: megatron, 9 steps told, 10 to 90 of 1000
//     steady   2.74 s a step (8 lines, spread 0.6 %)
//     left out 1 of the warm-up, 2 with an evaluation
//     memory   29.6 GiB (max reserved)
//     run      139 arguments: num_layers 64, hidden_size 9216, ...
#pragma once

#include <string>
#include <vector>

#include "samples/training_log.h"

namespace foretrain {

std::string log_text(const TrainingLog& log);
// One log as an object, several as an array (docs/formats/training-log.md).
std::string log_json(const std::vector<TrainingLog>& logs);

}  // namespace foretrain
