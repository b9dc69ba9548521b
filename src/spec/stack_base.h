// A stack that is another with something changed: its file names that one (`base: megatron`) and states the rest.
//
//   base: megatron
//   experts: {permute_fusion: false}     what is said of experts, but for this, is the base's
//   parts:
//     loss: [...]                        a part, or a part's variant, is replaced whole
//
// Names do not come from a base.
#pragma once

#include "base/yaml.h"

namespace foretrain {

inline constexpr std::string_view kBaseKey = "base";

// What `own` leaves out is taken from `base`: maps key by key, all else whole.
Node over_base(Node own, Node base);

}  // namespace foretrain
