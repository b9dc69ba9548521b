// Which clusters somebody may mean whose trace or log names a GPU ("NVIDIA H100 80GB HBM3") and no cluster.
#pragma once

#include <string>
#include <string_view>

#include "spec/catalog.h"

namespace foretrain {

// "; it names an H100: dgx-h100, eos or another cluster of that GPU"; empty: no GPU of ours is named.
std::string device_hint(const Catalog& catalog, std::string_view text);

}  // namespace foretrain
