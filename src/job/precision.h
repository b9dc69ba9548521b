// Which precision recipe a plan means, what of it the plan changes, and what the GPU asks for besides: decided here.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "spec/gpu.h"
#include "spec/plan.h"
#include "spec/recipe.h"
#include "spec/run.h"
#include "spec/stack.h"

namespace foretrain {

// Formats of products, as a plan has them. Made without allocation.
struct LowPrecision {
  RecipeFormats formats;
  // The GPU multiplies operands of one scale a tensor by rows alone, so that another copy of them lies transposed.
  bool by_rows_alone = true;
  // Copies of blocks' weights are made once a step and kept; otherwise in every pass, as of shards that are gathered.
  bool keeps_weights = false;

  bool is_narrow() const { return formats.is_narrow(); }
  bool is_narrow(Dtype product) const { return product != formats.passes; }
  // Some layers stay in the format of the passes while others do not; and whether this one of so many does, counted
  // over the whole model, whichever stage it lies on (Megatron Core's is_first_last_bf16_layer). Layers of multi-token
  // prediction are none of these.
  bool leaves_layers() const { return is_narrow() && formats.bf16_layers.any(); }
  bool leaves(std::int64_t layer, std::int64_t layers) const {
    return leaves_layers() &&
           (layer < formats.bf16_layers.start || layer >= layers - formats.bf16_layers.end);
  }
  // How many copies a tensor is cast into that is wanted by rows, by columns or both. In blocks and rows of scales
  // the two differ; of one scale a tensor they are the same bytes, unless they must lie by rows.
  int copies(bool rows, bool columns) const;
  // Copies of blocks' weights that products take.
  int weight_copies() const { return copies(true, is_narrow(formats.input)); }
  // Bytes of an element of these weights, with the copies that are kept; as they are gathered after an update.
  double weight_bytes() const;
  double travelling_bytes() const;
  // Copies of activations and gradients, or of weights, are made by a kernel each.
  bool apart(bool of_weights) const;

  bool operator==(const LowPrecision&) const = default;
};

// The recipe that the plan names, by its name or its family; null where the stack has none such.
const Recipe* find_recipe(const Stack& stack, const Plan& plan);
// With bf16 in its place.
const RecipeFormats& recipe_formats(const Stack& stack, const Plan& plan);
// Of weights and activations in the passes.
inline Dtype precision_of(const Stack& stack, const Plan& plan) { return recipe_formats(stack, plan).passes; }
// With what the plan changes. `by_rows_alone` as on Hopper.
LowPrecision low_precision_of(const Stack& stack, const Plan& plan);

// Products of one scale a tensor take operands in any layout from Blackwell on, which multiplies mxfp8 too
// (Transformer Engine's is_non_tn_fp8_gemm_supported: compute capability 10.0 and above).
bool takes_any_layout(const Gpu& gpu);

// The stack runs the recipe, the GPU has its formats, and what the plan changes of it means something.
Result<void> check_precision(const Run& run);

}  // namespace foretrain
