// A precision recipe: in which formats products run, and how their operands come into them. A product of a block,
// y = x w', has two more in its backward, each with two operands that lie along what they are summed over:
//
//   forward   y  = x w'     x and w by rows
//   input     dx = dy w     dy by rows, w by columns (transposed)
//   weight    dw = dy' x    dy and x by columns
//
// so that a tensor is wanted in one copy or in two. All else of a pass is in the format of the passes. A recipe holds
// choices, never seconds; what a framework keeps and when it casts is the stack's (Stack::LowPrecision).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "spec/dtype.h"

namespace foretrain {

// How a scale is found: of a tensor in the passes before, its largest magnitudes being kept and reduced over ranks at
// each pass's end; of the tensor itself, by a pass over it before the cast; of rows or blocks, by the kernel that casts.
enum class Scaling : unsigned char { kNone, kDelayed, kCurrent, kLocal };
inline constexpr std::array<std::string_view, 4> kScalingNames = {"none", "delayed", "current", "local"};

// Whether both copies of a tensor are made by one kernel, which reads it once.
enum class Copies : unsigned char { kTogether, kApart };
inline constexpr std::array<std::string_view, 2> kCopiesNames = {"together", "apart"};

// Layers at the model's start and end that stay in the format of the passes.
struct LayerEnds {
  std::int64_t start = 0;
  std::int64_t end = 0;

  bool any() const { return start > 0 || end > 0; }
  bool operator==(const LayerEnds&) const = default;
};

// What its formats come to, without names: a fixed number of bytes.
struct RecipeFormats {
  Dtype passes = Dtype::kBf16;  // weights, activations, and what no product below is
  // Of the blocks' products, where they are not in the format of the passes.
  Dtype forward = Dtype::kBf16;
  Dtype input = Dtype::kBf16;
  Dtype weight = Dtype::kBf16;
  Scaling scaling = Scaling::kNone;
  Copies copies = Copies::kTogether;
  // Operands of the weight's product go through a random Hadamard transform, so that their copies are made apart.
  bool hadamard = false;
  bool attention = false;  // products of attention too
  bool head = false;       // and the model's last
  LayerEnds bf16_layers;
  // Under sp, activations and their gradients are gathered for products in the products' format.
  bool gathers_narrow = false;
  bool params = false;                // weights are kept in the forward's format, beside the master copy
  bool params_travel_narrow = false;  // and gathered in it after an update; otherwise in that of the passes
  std::int64_t expert_rows = 1;       // rows of an expert are padded to a multiple of it

  // Any of its products is in another format than the passes.
  bool is_narrow() const { return forward != passes || input != passes || weight != passes; }
  bool operator==(const RecipeFormats&) const = default;
};

struct Recipe {
  std::string name = "bf16";
  std::string source;
  Dtype family = Dtype::kBf16;  // a plan's precision that means it, or another of that family
  RecipeFormats formats;

  bool operator==(const Recipe&) const = default;
};

// In one format throughout; the recipes of every stack, as their files state them.
RecipeFormats half_formats(Dtype dtype);
Recipe half_recipe(Dtype dtype);

}  // namespace foretrain
