// What fine-tuning trains in place of the whole model: adapters of low rank beside frozen products (LoRA; Hu et
// al. 2021, arXiv 2106.09685), whose own weights may lie in four or eight bits (QLoRA; Dettmers et al. 2023,
// arXiv 2305.14314).
//   y = W x + scale * B A x      A: rank x in, B: out x rank
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace foretrain {

enum class TrainingTask : unsigned char { kPretrain, kSft, kLora, kQlora };
inline constexpr std::array<std::string_view, 4> kTaskNames = {"pretrain", "sft", "lora", "qlora"};
inline constexpr std::int64_t kUsualRank = 16;

// Products of a block, as Hugging Face's Llama names its modules.
enum class LoraTarget : unsigned char { kQ, kK, kV, kO, kGate, kUp, kDown };
inline constexpr std::array<std::string_view, 7> kLoraTargetNames = {
    "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};

struct LoraTargets {
  std::uint8_t bits = 0;

  constexpr bool has(LoraTarget target) const { return (bits >> static_cast<int>(target) & 1) != 0; }
  constexpr void add(LoraTargets more) { bits = static_cast<std::uint8_t>(bits | more.bits); }
  constexpr bool empty() const { return bits == 0; }
  bool operator==(const LoraTargets&) const = default;
};
constexpr LoraTargets targets_of(std::initializer_list<LoraTarget> list) {
  LoraTargets targets;
  for (const LoraTarget target : list)
    targets.add({static_cast<std::uint8_t>(1 << static_cast<int>(target))});
  return targets;
}

// Words for several at once, and Megatron's names of its products.
struct LoraWord {
  std::string_view word;
  LoraTargets targets;
};
inline constexpr LoraTargets kAllTargets{0x7f};
inline constexpr std::array<LoraWord, 14> kLoraWords = {{
    {"q_proj", targets_of({LoraTarget::kQ})},
    {"k_proj", targets_of({LoraTarget::kK})},
    {"v_proj", targets_of({LoraTarget::kV})},
    {"o_proj", targets_of({LoraTarget::kO})},
    {"gate_proj", targets_of({LoraTarget::kGate})},
    {"up_proj", targets_of({LoraTarget::kUp})},
    {"down_proj", targets_of({LoraTarget::kDown})},
    {"attention", targets_of({LoraTarget::kQ, LoraTarget::kK, LoraTarget::kV, LoraTarget::kO})},
    {"mlp", targets_of({LoraTarget::kGate, LoraTarget::kUp, LoraTarget::kDown})},
    {"all", kAllTargets},
    {"linear_qkv", targets_of({LoraTarget::kQ, LoraTarget::kK, LoraTarget::kV})},
    {"linear_proj", targets_of({LoraTarget::kO})},
    {"linear_fc1", targets_of({LoraTarget::kGate, LoraTarget::kUp})},
    {"linear_fc2", targets_of({LoraTarget::kDown})},
}};

// In which format frozen products' weights lie: as the passes take them, in eight bits with a scale for each row
// (LLM.int8(); Dettmers et al. 2022, arXiv 2208.07339), or in four (NF4) with one for 64 weights.
enum class BaseFormat : unsigned char { kBf16, kInt8, kNf4 };
inline constexpr std::array<std::string_view, 3> kBaseFormatNames = {"bf16", "int8", "nf4"};

// Bytes of so many weights of a matrix with so many rows. Scales of NF4 are fp32; quantised once more they
// are a byte each, with an fp32 scale for 256 of them, 4.127 bits a weight in all.
constexpr double quantised_bytes(BaseFormat format, bool double_quant, double weights, double rows) {
  switch (format) {
    case BaseFormat::kBf16:
      return 2 * weights;
    case BaseFormat::kInt8:
      return weights + 4 * rows;
    case BaseFormat::kNf4:
      return weights / 2 + weights / 64 * (double_quant ? 1 + 4.0 / 256 : 4);
  }
  return 0;
}

}  // namespace foretrain
