// transformers' Trainer by the flags of its training arguments, as examples/pytorch/language-modeling/run_clm.py and its kin take them,
// with the configuration of DeepSpeed or accelerate beside it.
#pragma once

#include <optional>
#include <span>

#include "base/files.h"
#include "formats/key_table.h"
#include "formats/run_map.h"
#include "formats/settings.h"

namespace foretrain {

std::span<const KeyRow> trainer_rows();

bool is_trainer(const Settings& settings);
// The files where their texts are known.
Result<ForeignRun> read_trainer(Settings settings, const std::optional<Source>& deepspeed,
                                const std::optional<Source>& accelerate);

}  // namespace foretrain
