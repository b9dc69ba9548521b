// torchtitan: its TOML files (until 2026-02), and its command line of overrides (--training.seq_len 8192), which are one set
// of keys.
#pragma once

#include <span>

#include "formats/key_table.h"
#include "formats/run_map.h"
#include "formats/settings.h"

namespace foretrain {

std::span<const KeyRow> titan_rows();

bool is_titan(const Settings& settings);
Result<ForeignRun> read_titan(Settings settings);

}  // namespace foretrain
