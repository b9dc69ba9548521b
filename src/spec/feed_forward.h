// The feed-forward of a block: one MLP for every token, or experts (Shazeer et al. 2017, arXiv 1701.06538) of
// which a router chooses some for each, beside MLPs that all tokens pass (shared experts).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace foretrain {

enum class MlpKind : unsigned char { kGelu, kSwiglu, kGeglu, kSquaredRelu };
inline constexpr std::array<std::string_view, 4> kMlpNames = {"gelu", "swiglu", "geglu", "squared_relu"};

constexpr bool is_gated(MlpKind kind) { return kind == MlpKind::kSwiglu || kind == MlpKind::kGeglu; }

// In which format the router chooses, and weighs what experts make: both in half precision (OLMoE, Qwen MoE),
// weights alone in fp32 (Mixtral), or both, from an input that is copied to fp32 (DeepSeek, GLM).
enum class Router : unsigned char { kHalf, kFp32Weights, kFp32 };
inline constexpr std::array<std::string_view, 3> kRouterNames = {"half", "fp32_weights", "fp32"};

// How a rank's experts are run: as one product of all their rows, or one after the other.
enum class ExpertProducts : unsigned char { kGrouped, kLoop };
inline constexpr std::array<std::string_view, 2> kExpertProductsNames = {"grouped", "loop"};

struct FeedForward {
  MlpKind mlp = MlpKind::kGelu;
  std::int64_t ffn = 0;      // of a dense one
  std::int64_t experts = 0;  // 0: it is dense
  std::int64_t top_k = 0;    // experts that a token passes
  std::int64_t expert_ffn = 0;
  std::int64_t shared_ffn = 0;      // of all shared experts together
  std::int64_t routing_groups = 0;  // of experts, neighbours; 0: one
  std::int64_t group_limit = 0;     // of these, those from which a token's experts are taken; 0: all
  Router router = Router::kFp32Weights;
  bool shared_gate = false;  // each token weighs what they make (Qwen2-MoE)
  // A number an expert that is added to its score where experts are chosen, and moved towards an even load without a
  // gradient (Wang et al. 2024, arXiv 2408.15664; DeepSeek-V3). Published checkpoints hold, and so count it.
  bool balancing_bias = false;
  bool trained_activation =
      false;  // two trained numbers shape the activation of a dense MLP (xIELU: Apertus)

  bool has_experts() const { return experts > 0; }
  // Columns of the first product of an MLP so wide: gated ones have two.
  std::int64_t up_width(std::int64_t width) const { return is_gated(mlp) ? 2 * width : width; }
  bool operator==(const FeedForward&) const = default;
};

// Trained numbers; and of these, those that one token passes.
struct ParameterCount {
  std::int64_t all = 0;
  std::int64_t active = 0;
};
ParameterCount feed_forward_parameters(const FeedForward& feed_forward, std::int64_t hidden, bool biases);

}  // namespace foretrain
