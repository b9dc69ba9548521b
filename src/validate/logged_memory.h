// The predicted bytes that a counter of a log or a table shows: of the counter that it names, on the worst stage; where it
// names none, of the counter and the stage that the framework's own log has.
#pragma once

#include <optional>
#include <string_view>

#include "predict/prediction.h"
#include "validate/measured_row.h"

namespace foretrain {

Bytes logged_memory(const Prediction& prediction, const Stack& stack, std::optional<StatedCounter> stated);

// By the words that a log has for its counter: "max reserved", "cuda_max_memory_allocated".
std::optional<StatedCounter> stated_counter(std::string_view words);

}  // namespace foretrain
