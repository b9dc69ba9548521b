// Whether the sizes of products in fewer bits are such that the libraries multiply them. Rows lie in units of so many
// elements, and none of these libraries pads them by itself:
//   fp8 of one scale a tensor, a row or a block, nvfp4   16: cuBLASLt wants leading dimensions of 16 bytes, torch._scaled_mm
//                                                        dimensions divisible by 16; the weights' gradient is summed over
//                                                        tokens, which is such a dimension too (Transformer Engine's
//                                                        assert_dim_for_fp8_exec asks for 16 of the last and 8 of the others)
//   mxfp8                                                32, both ways: "MXFP8 requires tensor dims that are divisible by 32"
//                                                        (Transformer Engine, pytorch/csrc/quantizer.cpp)
// Rows of experts are padded by the framework (RecipeFormats::expert_rows).
#pragma once

#include <optional>
#include <string>

#include "spec/run.h"

namespace foretrain {

// What is no multiple of it, and of what; nothing where all are, or where products are in the format of the passes.
std::optional<std::string> alignment_refusal(const Run& run);

}  // namespace foretrain
