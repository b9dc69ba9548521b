// What is captured as CUDA graphs: recorded once, then launched as one (Megatron Core's guide "CUDA Graph", flags
// --cuda-graph-impl and --cuda-graph-scope, whose words these are).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace foretrain {

// Of each layer: attention with its norm and residual; a dense MLP likewise; all of a layer's experts with their
// exchanges; of them the router (and shared experts, unless these work while tokens travel); what moves rows before
// they travel. `layer`: all of it. `full`: the forwards and backwards of a whole step in one graph.
enum class GraphModule : unsigned char { kAttention, kMlp, kMoe, kMoeRouter, kMoePreprocess, kLayer, kFull };
inline constexpr int kGraphModuleCount = 7;
inline constexpr std::array<std::string_view, kGraphModuleCount> kGraphModuleNames = {
    "attn", "mlp", "moe", "moe_router", "moe_preprocess", "layer", "full"};
static_assert(kGraphModuleNames.back() == "full");
inline constexpr std::string_view kNoGraph = "none";
inline constexpr std::string_view kFullIteration = "full_iteration";  // Megatron's word for `full`

struct GraphModules {
  std::uint8_t bits = 0;

  constexpr bool has(GraphModule module) const { return (bits >> static_cast<int>(module) & 1) != 0; }
  constexpr void add(GraphModule module) {
    bits = static_cast<std::uint8_t>(bits | 1 << static_cast<int>(module));
  }
  constexpr bool empty() const { return bits == 0; }
  bool operator==(const GraphModules&) const = default;
};

}  // namespace foretrain
