// For tests: a table of measured runs around one invented row, whose cells a test replaces by name.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "validate/measured_row.h"

namespace foretrain {

using Cells = std::vector<std::pair<std::string, std::string>>;

// Sixteen GPUs train a small GPT: tp 2, pp 2, dp 4, four micro-batches a rank.
inline Cells example_cells() {
  return {{"id", "example"},
          {"source", "ours"},
          {"cluster", "selene"},
          {"gpu", "a100-80gb-sxm"},
          {"gpus", "16"},
          {"gpus_per_node", "8"},
          {"model", "small-gpt"},
          {"layers", "8"},
          {"hidden", "1024"},
          {"heads", "16"},
          {"kv_heads", "16"},
          {"head_dim", "64"},
          {"ffn", "4096"},
          {"ffn_type", "gelu"},
          {"norm", "layernorm"},
          {"positions", "learned"},
          {"vocab", "32000"},
          {"tied", "1"},
          {"seq", "1024"},
          {"experts", "0"},
          {"top_k", "0"},
          {"expert_ffn", "0"},
          {"shared_experts", "0"},
          {"shared_expert_ffn", "0"},
          {"dense_layers", "8"},
          {"tp", "2"},
          {"sp", "0"},
          {"pp", "2"},
          {"vpp", "1"},
          {"cp", "1"},
          {"ep", "1"},
          {"dp", "4"},
          {"zero", "0"},
          {"micro_batch", "2"},
          {"global_batch", "32"},
          {"precision", "bf16"},
          {"recompute", "none"},
          {"attention", "flash"},
          {"schedule", "1f1b"},
          {"stack", "generic"},
          {"step_s", "0.5"},
          {"tokens_per_s_per_gpu", ""},
          {"peak_mem_gib", "12"},
          {"mem_counter", "allocated"},
          {"assumed", ""},
          {"notes", "biases=1"}};
}

// Columns that a table may lack.
inline Cells further_cells() {
  Cells cells;
  for (const char* name : {"task",
                           "peft",
                           "lora_rank",
                           "lora_targets",
                           "packed",
                           "etp",
                           "mtp",
                           "pp_layout",
                           "dispatcher",
                           "ep_overlap",
                           "shared_overlap",
                           "routing",
                           "fp8_recipe",
                           "fp8_scope",
                           "fp8_params",
                           "bf16_layers",
                           "recompute_modules",
                           "recompute_layers",
                           "offload",
                           "cuda_graph",
                           "tp_overlap",
                           "dp_overlap",
                           "grad_reduce_dtype",
                           "optimizer",
                           "opt_state",
                           "sliding_window",
                           "group"})
    cells.emplace_back(name, "");
  return cells;
}

// The example, with the further columns where a row uses one of them.
inline Cells cells_for(const std::vector<Cells>& replacements) {
  Cells cells = example_cells();
  const Cells further = further_cells();
  for (const Cells& replaced : replacements)
    for (const auto& [name, value] : replaced)
      for (const auto& cell : further)
        if (cell.first == name) {
          cells.insert(cells.end(), further.begin(), further.end());
          return cells;
        }
  return cells;
}

// The header and one line a row, each the example with the given cells replaced.
inline std::string example_table(const std::vector<Cells>& replacements) {
  const Cells all = cells_for(replacements);
  const auto line = [](const Cells& cells, std::string Cells::value_type::*part) {
    std::string text;
    for (const auto& cell : cells) text += "," + cell.*part;
    return text.substr(1) + "\n";
  };
  std::string text = line(all, &Cells::value_type::first);
  for (const Cells& replaced : replacements) {
    Cells cells = all;
    for (const auto& [name, value] : replaced) {
      bool found = false;
      for (auto& cell : cells)
        if (cell.first == name) {
          cell.second = value;
          found = true;
        }
      CHECK_THAT(found);
    }
    text += line(cells, &Cells::value_type::second);
  }
  return text;
}

inline Result<std::vector<MeasuredRow>> example_rows(const std::vector<Cells>& replacements) {
  return CsvTable::parse(example_table(replacements), "runs.csv").and_then(measured_rows);
}

inline MeasuredRow example_row(const Cells& replaced = {}) {
  return example_rows({replaced}).value().front();
}

}  // namespace foretrain
