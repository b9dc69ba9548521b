// Words by which tables of samples call what this program has one word for. A table without a column for the format
// says it in the operator's or the implementation's word:
//   linear_fp8, fp8_linear, scaled_mm       linear, fp8
//   linear,fp8-rowwise / scaled_mm_rowwise  linear, fp8-row
//   cast, fp8_cast, quantize                quantise (to fp8 where nothing says another format)
// A word made of such parts is taken apart (float8_linear_per_row). Upper and lower case, `_` and `-` are alike. docs/formats/samples.md lists them.
#pragma once

#include <string>
#include <string_view>

namespace foretrain {

struct OperatorWords {
  std::string kind, impl, dtype;

  bool operator==(const OperatorWords&) const = default;
};

// The program's words for those of a row; a word that no table calls so stays as it is, for the reader to judge. `dtype`
// is empty where the row states none: then bf16, unless another word says more.
OperatorWords plain_words(std::string_view kind, std::string_view impl, std::string_view dtype);

// Sizes of casts by the names of a matrix, and of products by those of BLAS: rows, columns.
std::string plain_sizes(std::string_view kind, std::string_view sizes);

}  // namespace foretrain
