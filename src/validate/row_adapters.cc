#include "validate/row_adapters.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace foretrain {
namespace {

// Words of other frameworks: Megatron-NeMo's, torchtune's, GPT-NeoX's and Falcon's.
constexpr std::pair<std::string_view, std::string_view> kModules[] = {{"qkv", "linear_qkv"},
                                                                      {"query_key_value", "linear_qkv"},
                                                                      {"attn_out", "o_proj"},
                                                                      {"output_proj", "o_proj"},
                                                                      {"dense", "o_proj"},
                                                                      {"proj", "o_proj"},
                                                                      {"w1", "gate_proj"},
                                                                      {"w2", "down_proj"},
                                                                      {"w3", "up_proj"},
                                                                      {"fc1", "linear_fc1"},
                                                                      {"fc2", "linear_fc2"},
                                                                      {"dense_h_to_4h", "up_proj"},
                                                                      {"dense_4h_to_h", "down_proj"}};

}  // namespace

std::string lora_words(std::string_view targets) {
  const std::string_view text = trim(targets);
  if (text.empty() || text == "all" || text.starts_with("all ") || text.starts_with("all-")) return "all";
  std::vector<std::string> words;
  for (const std::string_view part : split(text, '+')) {
    const std::string_view word = trim(part);
    const auto found = std::find_if(std::begin(kModules), std::end(kModules),
                                    [&](const auto& known) { return known.first == word; });
    words.emplace_back(found == std::end(kModules) ? word : found->second);
  }
  return join(words, "+");
}

void put_adapters(SpecMap& map, const MeasuredRow& row, std::vector<std::string>& assumed) {
  if (row.peft.empty() || row.peft == "none") return;
  map.put("lora", row.lora_rank.value_or(kUsualRank));
  if (!row.lora_rank) assumed.push_back(fmt::format("lora={}", kUsualRank));
  map.put("lora_targets", std::string_view(lora_words(row.lora_targets)));
  if (row.lora_targets.empty()) assumed.emplace_back("lora_targets=all");
  if (row.peft == "qlora") map.put("base", "nf4");
  if (const auto dtype = row.notes.word("lora_dtype")) map.put("lora_dtype", *dtype);
}

void put_optimizer(SpecMap& map, const MeasuredRow& row) {
  constexpr std::string_view kPaged = "paged_";
  if (row.offload == "optimizer") map.put("offload_optimizer", "true");
  if (map.has("optimizer")) return;
  std::string_view word = row.optimizer;
  if (word.starts_with(kPaged)) {
    map.put("paged", "true");
    word.remove_prefix(kPaged.size());
  }
  if (word.ends_with("8bit") && word.starts_with("adam")) map.put("optimizer", "adamw_8bit");
}

}  // namespace foretrain
