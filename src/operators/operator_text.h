// An operator in words, as samples, `foretrain cost` and reports write it:
//   linear,aten,dgrad,bf16,m=8192 k=4096 n=11008
// Sizes are `name=value`, in any order, separated by spaces; each kind has its own names.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "operators/operator.h"

namespace foretrain {

// Names of a kind's sizes in the order of Operator::flat(). Optimizer kinds take parameters and tensors; the
// bytes of their states follow from the implementation's word.
std::span<const std::string_view> size_names(OperatorKind kind);

// "m=8192 k=4096 n=11008".
std::string sizes_text(const Operator& op);

// The word of the implementation, as parse_operator() takes it: "aten", "fused-bf16".
std::string_view impl_text(const Operator& op);

// Reads sizes into `op` (kind set before): every name of the kind once, whole numbers from 1 to 10^15;
// `causal` is 0 or 1 and may be left out (1), `kv_heads` may be left out (heads). Positions in errors point
// into the text where `at` is its beginning.
Result<void> read_sizes(Operator& op, std::string_view text, const Position& at = {});

// Where each word stands, for errors.
struct OperatorPositions {
  Position kind, impl, pass, dtype, sizes;
};

// Words from samples. Some name more than one thing: cross_entropy "fp32" is the eager chain on fp32 logits,
// adamw "fused-bf16" the fused kernel on bf16 weights, gradients and moments ("fused" alone: fp32 master,
// moments and gradients), gelu_tanh a gelu, by aten or eager the one of impl tanh. Passes and implementations
// that a kind does not have are refused.
Result<Operator> parse_operator(std::string_view kind, std::string_view impl, std::string_view pass,
                                std::string_view dtype, std::string_view sizes,
                                const OperatorPositions& at = {});

}  // namespace foretrain
