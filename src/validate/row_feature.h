// What a measured row is about, by its own columns: is the program as good at experts, at fp8, at long context as at
// the dense models of old? A row has every feature that it states, so that rows of several count in each of them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "spec/run.h"
#include "validate/measured_row.h"

namespace foretrain {

inline constexpr std::array<std::string_view, 6> kFeatureNames = {
    "dense",             // no experts
    "experts",           // a mixture of them
    "latent-attention",  // notes mla=1
    "low-precision",     // products of eight bits or fewer
    "context-parallel",  // cp above 1
    "fine-tuning",       // task sft or lora, or adapters
};

// In the order above.
std::vector<std::string> features_of(const MeasuredRow& row);
// Of a run that is asked about, the same: what a row's columns state of it.
std::vector<std::string> features_of(const Run& run);

}  // namespace foretrain
