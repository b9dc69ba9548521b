// The fields of a precision recipe, as in its file.
#pragma once

#include "spec/field.h"
#include "spec/recipe.h"

namespace foretrain {

// "1-1": layers at the start and at the end.
struct EndsText {
  std::int64_t most = 0;
};

inline constexpr std::int64_t kMostEndLayers = 10'000;

inline constexpr auto kRecipeFields = std::tuple{
    field("name", &Recipe::name, FreeText{}, "as plans call it", "the file's name"),
    field("source", &Recipe::source, FreeText{}, "where its figures come from", "empty"),
    field("family", &Recipe::family, OneOf{kDtypeNames},
          "word of a plan's `precision` that means the first recipe of this family that its stack lists"),
};

inline constexpr auto kFormatFields = std::tuple{
    field("passes", &RecipeFormats::passes, OneOf{kDtypeNames},
          "of weights, activations, and all that is not one of the products below"),
    field("forward", &RecipeFormats::forward, OneOf{kDtypeNames}, "products of blocks forward"),
    field("input", &RecipeFormats::input, OneOf{kDtypeNames}, "backward, to their inputs"),
    field("weight", &RecipeFormats::weight, OneOf{kDtypeNames}, "backward, to their weights"),
    field("scaling", &RecipeFormats::scaling, OneOf{kScalingNames},
          "where a tensor's scale comes from: `delayed`: from its largest magnitudes in the steps before, "
          "reduced over ranks once a step; `current`: from a pass over it before the cast; `local`: of rows "
          "or blocks, found by the kernel that casts"),
    field("copies", &RecipeFormats::copies, OneOf{kCopiesNames},
          "a tensor that is wanted by rows and by columns is cast by one kernel, or by one each"),
    field("hadamard", &RecipeFormats::hadamard, Flag{},
          "operands of the weights' products go through a random Hadamard transform: copies of activations "
          "and gradients are made apart"),
    field("attention", &RecipeFormats::attention, Flag{}, "attention's products are in the forward's format"),
    field("head", &RecipeFormats::head, Flag{}, "the model's last product is as the blocks' are"),
    field("bf16_layers", &RecipeFormats::bf16_layers, EndsText{kMostEndLayers},
          "layers at the model's start and end that stay in the format of the passes, as `1-1`"),
    field("gathers_narrow", &RecipeFormats::gathers_narrow, Flag{},
          "under sp, what is gathered for a product travels in its format"),
    field("params", &RecipeFormats::params, Flag{},
          "blocks' weights are kept in the forward's format, beside the fp32 master copy"),
    field("params_travel_narrow", &RecipeFormats::params_travel_narrow, Flag{},
          "weights that are kept so are gathered so after an update; otherwise in the format of the passes, "
          "and cast after"),
    field("expert_rows", &RecipeFormats::expert_rows, WholeNumber{1, 1024},
          "rows of each expert are padded to a multiple of it"),
};

}  // namespace foretrain
