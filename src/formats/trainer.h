// transformers' Trainer by the flags of its training arguments, as examples/pytorch/language-modeling/run_clm.py and its kin take them,
// with the configuration of DeepSpeed or accelerate beside it.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/files.h"
#include "formats/key_table.h"
#include "formats/run_map.h"
#include "formats/settings.h"

namespace foretrain {

inline constexpr std::string_view kTrainerWords = "transformers' Trainer";

std::span<const KeyRow> trainer_rows();

// Its flags as the keys of a file: --per-device-train-batch-size is per_device_train_batch_size.
Settings trainer_keys(Settings settings);
bool is_trainer(const Settings& settings);
// The files where their texts are known.
Result<ForeignRun> read_trainer(const Settings& flags, const std::optional<Source>& deepspeed,
                                const std::optional<Source>& accelerate);

}  // namespace foretrain
