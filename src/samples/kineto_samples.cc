#include "samples/kineto_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "operators/operator_text.h"
#include "samples/steady_steps.h"

namespace foretrain {
namespace {

constexpr int kDeepest = 64;  // operators around a kernel's that are looked at

// An operator in our words, before it is read.
struct Words {
  std::string kind, impl, pass, dtype, sizes;
};

std::optional<std::string_view> dtype_of(const OperatorInputs& inputs, std::size_t input) {
  if (input >= inputs.types.size()) return std::nullopt;
  const std::string_view type = inputs.types[input];
  if (type == "c10::BFloat16") return "bf16";
  if (type == "c10::Half") return "fp16";
  if (type == "float") return "fp32";
  return std::nullopt;
}

// Rows and the last size: [2, 4096, 512] is 8192 rows of 512.
struct Rows {
  double rows = 0;
  std::int64_t width = 0;
};
std::optional<Rows> rows_of(const OperatorInputs& inputs, std::size_t input) {
  if (input >= inputs.shapes.size() || inputs.shapes[input].size() < 2) return std::nullopt;
  const TensorSizes& shape = inputs.shapes[input];
  double rows = 1;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows *= static_cast<double>(shape[i]);
  if (rows > 1e15) return std::nullopt;
  return Rows{rows, shape.back()};
}

const TensorSizes* tensor(const OperatorInputs& inputs, std::size_t input, std::size_t rank) {
  if (input >= inputs.shapes.size() || inputs.shapes[input].size() != rank) return nullptr;
  return &inputs.shapes[input];
}

// What stands around an operator: nothing of a backward, one that says its gradient's size, or one that does not.
struct Around {
  bool is_backward = false;
  std::optional<Rows> gradient;
};

std::string product_sizes(std::int64_t m, std::int64_t k, std::int64_t n) {
  return fmt::format("m={} k={} n={}", m, k, n);
}

// [a,b] x [b,c], which y = x w with its gradients dx = dy w' and dw = x' dy may all be. `has_dgrad` tells
// square ones apart: a backward makes dx first.
std::optional<Words> product(const TensorSizes& left, const TensorSizes& right, const Around& around,
                             bool& has_dgrad) {
  const std::int64_t a = left[0], b = left[1], c = right[1];
  if (right[0] != b) return std::nullopt;
  Words words{"linear", "aten", "fwd", "", product_sizes(a, b, c)};
  if (!around.is_backward) return words;
  if (!around.gradient) return std::nullopt;
  const auto m = static_cast<std::int64_t>(around.gradient->rows);
  const std::int64_t n = around.gradient->width;
  const bool may_be_dgrad = a == m && b == n, may_be_wgrad = b == m && (a == n || c == n);
  if (may_be_dgrad && !(may_be_wgrad && has_dgrad)) {
    has_dgrad = true;
    words.pass = "dgrad", words.sizes = product_sizes(m, c, n);
    return words;
  }
  if (!may_be_wgrad) return std::nullopt;
  words.pass = "wgrad", words.sizes = product_sizes(m, a == n ? c : a, n);
  return words;
}

struct AttentionOperator {
  std::string_view name, impl, pass;
  std::size_t query, causal;  // which inputs they are
};
constexpr AttentionOperator kAttentions[] = {
    {"aten::_scaled_dot_product_flash_attention", "flash", "fwd", 0, 4},
    {"aten::_scaled_dot_product_flash_attention_backward", "flash", "bwd", 1, 11},
    {"aten::_scaled_dot_product_cudnn_attention", "cudnn", "fwd", 0, 6}};

std::optional<Words> attention(std::string_view name, const OperatorInputs& inputs) {
  for (const AttentionOperator& known : kAttentions) {
    if (name != known.name) continue;
    const TensorSizes* query = tensor(inputs, known.query, 4);
    const TensorSizes* key = tensor(inputs, known.query + 1, 4);
    if (query == nullptr || key == nullptr || (*query)[2] != (*key)[2] ||
        known.causal >= inputs.values.size())
      return std::nullopt;
    const std::string& causal = inputs.values[known.causal];
    if (causal != "True" && causal != "False") return std::nullopt;
    return Words{"attention", std::string(known.impl), std::string(known.pass),
                 std::string(dtype_of(inputs, known.query).value_or("")),
                 fmt::format("batch={} heads={} kv_heads={} seq={} head_dim={} causal={}", (*query)[0],
                             (*query)[1], (*key)[1], (*query)[2], (*query)[3], causal == "True" ? 1 : 0)};
  }
  return std::nullopt;
}

std::optional<Words> rowwise(std::string_view name, const OperatorInputs& inputs) {
  const auto dtype = dtype_of(inputs, 0);
  const auto rows = rows_of(inputs, 0);
  if (!dtype || !rows) return std::nullopt;
  const std::string sizes = fmt::format("tokens={:.0f} width={}", rows->rows, rows->width);
  const std::string pass = name.ends_with("_backward") ? "bwd" : "fwd";
  if (name.starts_with("aten::native_layer_norm"))
    return Words{"layernorm", "aten", pass, std::string(*dtype), sizes};
  const std::size_t approximation = pass == "bwd" ? 2 : 1;
  const bool is_tanh = approximation < inputs.values.size() && inputs.values[approximation] == "tanh";
  return Words{"gelu", is_tanh ? "tanh" : "aten", pass, std::string(*dtype), sizes};
}

std::optional<Words> embedding(const OperatorInputs& inputs) {
  const TensorSizes* table = tensor(inputs, 0, 2);
  if (table == nullptr || inputs.shapes.size() < 2) return std::nullopt;
  double tokens = 1;
  for (const std::int64_t size : inputs.shapes[1]) tokens *= static_cast<double>(size);
  const auto dtype = dtype_of(inputs, 0);
  if (!dtype || tokens > 1e15) return std::nullopt;
  return Words{"embedding", "aten", "fwd", std::string(*dtype),
               fmt::format("tokens={:.0f} width={} vocab={}", tokens, (*table)[1], (*table)[0])};
}

bool is_known(std::string_view name) {
  constexpr std::string_view kNames[] = {"aten::mm",
                                         "aten::addmm",
                                         "aten::bmm",
                                         "aten::native_layer_norm",
                                         "aten::native_layer_norm_backward",
                                         "aten::gelu",
                                         "aten::gelu_backward",
                                         "aten::embedding"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) ||
         std::any_of(std::begin(kAttentions), std::end(kAttentions),
                     [&](const AttentionOperator& known) { return known.name == name; });
}

// The call of one operator: its kernels together.
struct Call {
  std::int32_t op = -1;
  double us = 0;
  std::size_t kernels = 0;
};

class Maker {
 public:
  Maker(const KinetoEvents& events, const KinetoOwners& owners, const std::string& source)
      : events_(events), owners_(owners), source_(source) {}

  KinetoSamples make() {
    std::map<std::int32_t, Call> calls;
    for (const GpuEvent& event : events_.gpu) {
      if (event.work != GpuWork::kKernel) continue;
      const std::int32_t op = known_around(owners_.owner(event));
      if (op < 0) {
        ++result_.left_out["no operator of ours, or its sizes are not recorded"];
        continue;
      }
      Call& call = calls[op];
      call.op = op, call.us += event.us, ++call.kernels;
    }
    for (const auto& [op, call] : calls) add(call);
    take_medians();
    return std::move(result_);
  }

 private:
  const CpuOperator& at(std::int32_t op) const { return events_.operators[static_cast<std::size_t>(op)]; }
  const std::string& name_of(std::int32_t op) const {
    return events_.names[static_cast<std::size_t>(at(op).name)];
  }
  const OperatorInputs* inputs_of(std::int32_t op) const {
    return at(op).inputs < 0 ? nullptr : &events_.inputs[static_cast<std::size_t>(at(op).inputs)];
  }

  std::int32_t known_around(std::int32_t op) const {
    for (int level = 0; op >= 0 && level < kDeepest; ++level, op = owners_.parent(op))
      if (at(op).inputs >= 0 && is_known(name_of(op))) return op;
    return -1;
  }

  Around around(std::int32_t op) const {
    Around found;
    op = owners_.parent(op);
    for (int level = 0; op >= 0 && level < kDeepest; ++level, op = owners_.parent(op)) {
      if (name_of(op).find("Backward") == std::string::npos) continue;
      found.is_backward = true;
      backward_ = op;
      if (const OperatorInputs* inputs = inputs_of(op)) found.gradient = rows_of(*inputs, 0);
      if (found.gradient) break;
    }
    return found;
  }

  std::optional<Words> words_of(std::int32_t op) {
    const std::string& name = name_of(op);
    const OperatorInputs& inputs = *inputs_of(op);
    const std::size_t first = name == "aten::addmm" ? 1 : 0;
    const auto dtype = dtype_of(inputs, first);
    if (name == "aten::mm" || name == "aten::addmm") {
      const TensorSizes *left = tensor(inputs, first, 2), *right = tensor(inputs, first + 1, 2);
      if (left == nullptr || right == nullptr || !dtype) return std::nullopt;
      const Around near = around(op);
      auto words = product(*left, *right, near, has_dgrad_[near.is_backward ? backward_ : -1]);
      if (words) words->dtype = *dtype;
      return words;
    }
    if (name == "aten::bmm") {
      const TensorSizes *left = tensor(inputs, 0, 3), *right = tensor(inputs, 1, 3);
      if (left == nullptr || right == nullptr || !dtype || around(op).is_backward) return std::nullopt;
      return Words{"batched_product", "aten", "fwd", std::string(*dtype),
                   fmt::format("batch={} ", (*left)[0]) + product_sizes((*left)[1], (*left)[2], (*right)[2])};
    }
    if (name == "aten::embedding") return embedding(inputs);
    if (name.find("attention") != std::string::npos) return attention(name, inputs);
    return rowwise(name, inputs);
  }

  void add(const Call& call) {
    const auto words = words_of(call.op);
    auto op = words && !words->dtype.empty()
                  ? parse_operator(words->kind, words->impl, words->pass, words->dtype, words->sizes)
                  : Result<Operator>(fail(""));
    if (!op || !(call.us > 0)) {
      result_.left_out["sizes or types that make no operator of ours"] += call.kernels;
      return;
    }
    result_.kernels += call.kernels;
    auto& group = groups_[operator_label(*op) + ' ' + sizes_text(*op)];
    group.op = *op;
    group.us.push_back(call.us);
  }

  void take_medians() {
    for (auto& [label, group] : groups_) {
      Sample sample;
      sample.op = group.op;
      double mean = 0, squares = 0;
      for (const double us : group.us) mean += us / static_cast<double>(group.us.size());
      for (const double us : group.us) squares += (us - mean) * (us - mean);
      if (group.us.size() > 1)
        sample.spread = std::sqrt(squares / static_cast<double>(group.us.size() - 1)) / mean;
      sample.us = median(std::move(group.us));
      sample.source = source_;
      result_.samples.push_back(std::move(sample));
    }
  }

  struct Group {
    Operator op;
    std::vector<double> us;
  };

  const KinetoEvents& events_;
  const KinetoOwners& owners_;
  const std::string& source_;
  mutable std::int32_t backward_ = -1;      // that around() found
  std::map<std::int32_t, bool> has_dgrad_;  // backwards whose dx is made
  std::map<std::string, Group> groups_;     // by operator, in order of its words
  KinetoSamples result_;
};

}  // namespace

KinetoSamples kineto_samples(const KinetoEvents& events, const KinetoOwners& owners,
                             const std::string& source) {
  return Maker(events, owners, source).make();
}

}  // namespace foretrain
