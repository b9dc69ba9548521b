// What context parallelism asks of a plan, a model and a stack: what frameworks refuse is refused here, with the
// reason.
#pragma once

#include <optional>
#include <string>

#include "spec/run.h"

namespace foretrain {

// Why so many ranks cannot exchange a block's heads by all-to-alls, in words that name the width; none: they
// can. `copies_kv`: heads of keys and values are copied where there are too few.
std::optional<std::string> a2a_refusal(const Attention& attention, std::int64_t tp, std::int64_t ranks,
                                       bool copies_kv);

// Of a run whose degrees have been checked.
std::optional<std::string> context_refusal(const Run& run);

}  // namespace foretrain
