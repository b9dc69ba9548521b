#include "formats/titan_models.h"

#include <algorithm>

namespace foretrain {
namespace {

// torchtitan/models/*/config_registry.py of 2026. Those without a function of that name are known by their flavor of before.
constexpr TitanFlavor kFlavors[] = {
    {"llama3", "8B", "llama3_8b", "llama-3-8b llama-3.1-8b", 32, "bf16"},
    {"llama3", "70B", "llama3_70b", "llama-3-70b llama-3.1-70b llama-3.3-70b", 80, "bf16"},
    {"llama3", "405B", "llama3_405b", "llama-3.1-405b llama-3-405b", 126, "fp8-current"},
    {"llama4", "17bx16e", "llama4_17bx16e", "llama-4-scout", 48, "bf16"},
    {"llama4", "17bx128e", "llama4_17bx128e", "llama-4-maverick", 48, "bf16"},
    {"deepseek_v3", "16B", "deepseek_v3_16b", "deepseek-v2-lite", 27, "bf16"},
    {"deepseek_v3", "671B", "deepseek_v3_671b", "deepseek-v3", 61, "fp8-current"},
    {"gpt_oss", "20b", "gpt_oss_20b", "gpt-oss-20b", 24, "bf16"},
    {"gpt_oss", "120b", "gpt_oss_120b", "gpt-oss-120b", 36, "bf16"},
    {"qwen3", "0.6B", "qwen3_0_6b", "qwen3-0.6b", 28, "bf16"},
    {"qwen3", "1.7B", "qwen3_1_7b", "qwen3-1.7b", 28, "bf16"},
    {"qwen3", "14B", "qwen3_14b", "qwen3-14b", 40, "bf16"},
    {"qwen3", "32B", "qwen3_32b", "qwen3-32b", 64, "bf16"},
    {"qwen3", "30B-A3B", "qwen3_30b_a3b", "qwen3-30b-a3b", 48, "bf16"},
};

}  // namespace

std::span<const TitanFlavor> titan_flavors() { return kFlavors; }

std::vector<std::int64_t> titan_split(std::int64_t layers, std::int64_t chunks, std::int64_t first_less,
                                      std::int64_t last_less) {
  constexpr std::int64_t kMostLayers = 10'000;
  std::vector<std::int64_t> out;
  const auto sane = [&](std::int64_t n) { return n >= 0 && n <= kMostLayers; };
  if (!sane(layers) || !sane(first_less) || !sane(last_less) || chunks < 1 ||
      chunks > layers + first_less + last_less)
    return out;
  const std::int64_t all = layers + first_less + last_less;
  for (std::int64_t i = 0; i < chunks; ++i) out.push_back(all / chunks + (i < all % chunks ? 1 : 0));
  out.front() -= first_less;
  out.back() -= last_less;
  if (std::any_of(out.begin(), out.end(), [](std::int64_t n) { return n < 0; })) out.clear();
  return out;
}

}  // namespace foretrain
