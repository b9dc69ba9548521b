// A format is a table of its keys. Each row says what one key means:
//   {"num-layers", "layers"}                     its value is a fact
//   {"swiglu", "mlp=swiglu"}                     where it is given (and not false) the fact has this value
//   {"bias", "biases=true|false"}                by whether it is true or false
//   {"zero", "plan.zero{none:0,full:3}"}         by words; others are told as not understood. One after '<' is never written
//   {"lr", ""}                                   known, and of no effect on a step's time or memory
//   {"deterministic-mode", "!time"}              it changes that and is not modelled, which is told
//   {"bias_gelu_fusion", "?time"}                it does so where it is turned off
// A key may have several rows. `theirs` may begin or end in '*': all keys that end or begin so, or hold it. What no row knows is listed.
#pragma once

#include <span>
#include <string_view>

#include "formats/facts.h"
#include "formats/settings.h"

namespace foretrain {

// Most keys are read alone: names that were dropped, other forks', what nobody has to state. Those of a launch that is
// written (launch_settings.h) are of the format as it is now.
enum class KeyUse : unsigned char { kRead, kBoth };

struct KeyRow {
  std::string_view theirs, ours;
  KeyUse use = KeyUse::kRead;
};

void apply_table(std::span<const KeyRow> rows, const Settings& settings, Facts& facts);

// Whether a table knows the key and that it is of no effect.
bool is_without_effect(std::span<const KeyRow> rows, std::string_view key);

// Rows for what a table left unknown.
void apply_further(std::span<const KeyRow> rows, const Settings& settings, Facts& facts);

// True, False, yes, 1, ...; none: another word. No words at all are true: a flag.
std::optional<bool> truth_of(const KeySetting& setting);

}  // namespace foretrain
