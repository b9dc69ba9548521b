// The configuration that MaxText prints into its log before it trains, worked out (MaxText/pyconfig.py):
//   Config param emb_dim: 4096
//   Num_devices: 32, shape (1, 4, 8, 1)
#pragma once

#include <string>
#include <string_view>

#include "formats/run_map.h"

namespace foretrain {

bool has_printed_config(std::string_view text);
Result<ForeignRun> read_printed_config(std::string_view text, const std::string& file);

}  // namespace foretrain
