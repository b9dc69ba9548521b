#include "samples/aliases.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <optional>

#include "base/text.h"
#include "spec/dtype.h"
#include "spec/operator_kind.h"

namespace foretrain {
namespace {

struct Alias {
  std::string_view word, meant;
};

// Formats; longer words first, since the beginning or end of an operator's word is looked up here, too.
constexpr Alias kFormats[] = {
    {"fp8-per-tensor", "fp8"},
    {"fp8-tensorwise", "fp8"},
    {"fp8-tensor", "fp8"},
    {"fp8tensor", "fp8"},
    {"fp8-per-row", "fp8-row"},
    {"fp8-rowwise", "fp8-row"},
    {"fp8-row", "fp8-row"},
    {"fp8rowwise", "fp8-row"},
    {"fp8row", "fp8-row"},
    {"fp8-blockwise", "fp8-block"},
    {"fp8-block", "fp8-block"},
    {"fp8block", "fp8-block"},
    {"float8-e4m3fn", "fp8"},
    {"float8-e5m2", "fp8"},
    {"float8-e4m3", "fp8"},
    {"float8-rowwise", "fp8-row"},
    {"float8-tensorwise", "fp8"},
    {"float8", "fp8"},
    {"fp8-e4m3fn", "fp8"},
    {"fp8-e4m3", "fp8"},
    {"fp8-e5m2", "fp8"},
    {"mxfp8", "mxfp8"},
    {"nvfp4", "nvfp4"},
    {"fp8", "fp8"},
    {"e4m3", "fp8"},
    {"bfloat16", "bf16"},
    {"float16", "fp16"},
    {"half", "fp16"},
    {"float32", "fp32"},
};
// Implementations of a product that say its format; of others what multiplies them does not matter.
constexpr Alias kScaledImpls[] = {
    {"scaled-mm-rowwise", "fp8-row"},
    {"scaled-mm-row", "fp8-row"},
    {"scaled-rowwise", "fp8-row"},
    {"scaled-row", "fp8-row"},
    {"scaled-mm", "fp8"},
    {"scaled-grouped-mm", "fp8"},
    {"scaled-tensor", "fp8"},
    {"scaled", "fp8"},
    {"rowwise", "fp8-row"},
    {"tensorwise", "fp8"},
};
constexpr Alias kKinds[] = {
    {"scaled-grouped-mm", "grouped_product"},
    {"grouped-mm", "grouped_product"},
    {"scaled-mm", "linear"},
    {"matmul", "linear"},
    {"gemm", "linear"},
    {"quantize", "quantise"},
    {"cast", "quantise"},
    {"cast-transpose", "quantise"},
    {"absmax", "amax"},
};
// Of what kinds they are where nothing else says a format.
constexpr Alias kFormatOfKind[] = {
    {"scaled-mm", "fp8"}, {"scaled-grouped-mm", "fp8-row"}, {"quantise", "fp8"},  {"quantize", "fp8"},
    {"cast", "fp8"},      {"cast-transpose", "fp8"},        {"transpose", "fp8"},
};

// In lower case, `-` for `_`, without any at the ends (torch._scaled_mm).
std::string normal(std::string_view word) {
  std::string out;
  for (const char c : word)
    out += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::size_t first = out.find_first_not_of('-');
  return first == std::string::npos ? "" : out.substr(first, out.find_last_not_of('-') - first + 1);
}

template <std::size_t N>
std::optional<std::string_view> meant(const Alias (&table)[N], std::string_view word) {
  for (const Alias& alias : table)
    if (alias.word == word) return alias.meant;
  return std::nullopt;
}

// "linear-fp8-rowwise" and "fp8-rowwise-linear": takes the format off the word.
std::optional<std::string_view> take_format(std::string& word) {
  for (const auto& [format, dtype] : kFormats) {
    if (word.size() <= format.size() + 1) continue;
    const std::size_t rest = word.size() - format.size() - 1;
    if (word.ends_with(format) && word[rest] == '-') {
      word.resize(rest);
      return dtype;
    }
    if (word.starts_with(format) && word[format.size()] == '-') {
      word.erase(0, format.size() + 1);
      return dtype;
    }
  }
  return std::nullopt;
}

// A word that no table has, taken apart: all of its parts must be known. "float8_linear_per_row", "torch-scaled-mm".
struct Parts {
  bool product = false, grouped = false, cast = false;
  bool eight = false;
  std::string_view scaling;  // what follows "fp8"
};
constexpr std::string_view kOfProducts[] = {"linear", "mm", "matmul", "gemm", "product"};
constexpr std::string_view kOfCasts[] = {"cast", "quantise", "quantize", "quant", "to"};
constexpr std::string_view kOfEight[] = {"fp8", "f8", "float8", "e4m3", "e4m3fn", "e5m2", "scaled"};
constexpr std::string_view kOfNothing[] = {"per",    "wise",     "torch",   "aten",
                                           "cublas", "cublaslt", "cutlass", "scale"};
constexpr Alias kScalings[] = {{"tensor", ""},          {"tensorwise", ""}, {"row", "-row"},
                               {"rowwise", "-row"},     {"rows", "-row"},   {"block", "-block"},
                               {"blockwise", "-block"}, {"channel", "-row"}};

template <std::size_t N>
bool holds(const std::string_view (&words)[N], std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

std::optional<Parts> parts_of(std::string_view word) {
  Parts parts;
  bool scaled = false;
  for (const std::string_view part : split(word, '-')) {
    if (const auto scaling = meant(kScalings, part)) {
      parts.scaling = *scaling;
      scaled = true;
    } else if (holds(kOfProducts, part)) {
      parts.product = true;
    } else if (part == "grouped") {
      parts.grouped = true;
    } else if (holds(kOfCasts, part)) {
      parts.cast = true;
    } else if (holds(kOfEight, part)) {
      parts.eight = true;
    } else if (!holds(kOfNothing, part)) {
      return std::nullopt;
    }
  }
  parts.eight = parts.eight || scaled;
  return parts;
}

std::optional<std::string_view> format_of(const Parts& parts) {
  if (!parts.eight) return std::nullopt;
  return parts.scaling.empty() ? "fp8" : parts.scaling == "-row" ? "fp8-row" : "fp8-block";
}

bool is_kind(std::string_view word) {
  return std::find(kOperatorKindNames.begin(), kOperatorKindNames.end(), word) != kOperatorKindNames.end();
}

struct PlainKind {
  std::string kind;
  std::optional<std::string_view> format;
};

// A kind of the vocabulary is taken as it is written.
PlainKind plain_kind(std::string_view word) {
  std::string rest = normal(word);
  const auto plain = [](std::string_view w) -> std::optional<std::string> {
    if (const auto known = meant(kKinds, w)) return std::string(*known);
    std::string kind(w);
    std::replace(kind.begin(), kind.end(), '-', '_');
    return is_kind(kind) ? std::optional(kind) : std::nullopt;
  };
  if (const auto kind = plain(rest)) return {*kind, meant(kFormatOfKind, rest)};
  // "scaled-mm-rowwise": an implementation's word.
  if (const auto format = meant(kScaledImpls, rest)) return {"linear", format};
  std::optional<std::string_view> format = take_format(rest);
  if (const auto kind = plain(rest); format && kind) return {*kind, format};
  if (const auto parts = parts_of(normal(word)); parts && parts->eight) {
    if (parts->cast) return {"quantise", format_of(*parts)};
    return {parts->grouped ? "grouped_product" : "linear", format_of(*parts)};
  }
  return {std::string(word), std::nullopt};
}

}  // namespace

OperatorWords plain_words(std::string_view kind, std::string_view impl, std::string_view dtype) {
  const PlainKind plain = plain_kind(kind);
  OperatorWords out{plain.kind, std::string(impl), std::string(dtype)};
  const std::string impl_word = normal(impl);
  const bool product = plain.kind == kOperatorKindNames[static_cast<int>(OperatorKind::kLinear)] ||
                       plain.kind == kOperatorKindNames[static_cast<int>(OperatorKind::kGroupedProduct)];
  const bool cast = plain.kind == "quantise" || plain.kind == "amax" || plain.kind == "transpose";
  std::optional<std::string_view> format = plain.format;
  if (product || cast) {
    const auto of_impl = meant(kFormats, impl_word);
    const auto of_scaled = meant(kScaledImpls, impl_word);
    const bool known = std::find(kImplNames.begin(), kImplNames.end(), impl) != kImplNames.end();
    const auto parts = known ? std::nullopt : parts_of(impl_word);
    if (of_impl || of_scaled || parts) {
      if (of_impl || of_scaled || parts->eight)
        format = of_impl ? of_impl : of_scaled ? of_scaled : format_of(*parts);
      out.impl = product ? "aten" : "fused";
    }
    if (impl_word == "compile" || impl_word == "compiled" || impl_word == "inductor") out.impl = "fused";
  }
  if (const auto stated = meant(kFormats, normal(dtype))) out.dtype = *stated;
  // Only a row that says nothing of its format, or the one that comes out, leaves it to other words. What an amax
  // reads is no scaled format.
  const bool open = out.dtype.empty() || out.dtype == name(Dtype::kBf16);
  if (open && format && plain.kind != "amax") out.dtype = *format;
  if (out.dtype.empty()) out.dtype = name(Dtype::kBf16);
  return out;
}

std::string plain_sizes(std::string_view kind, std::string_view sizes) {
  if (kind != "quantise" && kind != "amax" && kind != "transpose") return std::string(sizes);
  constexpr Alias kSizes[] = {{"rows", "tokens"}, {"m", "tokens"}, {"columns", "width"}, {"cols", "width"},
                              {"n", "width"},     {"k", "width"},  {"hidden", "width"}};
  std::string out;
  for (const std::string_view item : split(sizes, ' ')) {
    const std::size_t equals = std::min(item.find('='), item.size());
    const auto known = meant(kSizes, item.substr(0, equals));
    out += out.empty() ? "" : " ";
    out += known ? std::string(*known) + std::string(item.substr(equals)) : std::string(item);
  }
  return out;
}

}  // namespace foretrain
