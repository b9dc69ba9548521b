// A row of the measured-runs table: one published training run, its model, plan and measured step.
//
// The table is plain CSV with 46 named columns, in any order, and some more that it may lack (docs/formats has
// the page). An empty cell is unknown, never zero. The notes cell is free text, "; " between items; an item `key=value` whose key is one
// lower-case word can be asked for by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/csv.h"
#include "base/files.h"
#include "base/units.h"
#include "spec/dtype.h"
#include "spec/model.h"
#include "spec/plan.h"

namespace foretrain {

enum class RowSchedule : unsigned char { kNone, k1f1b, kInterleaved };
inline constexpr std::array<std::string_view, 3> kRowScheduleNames = {"none", "1f1b", "interleaved"};

// Who counted the memory: torch's counters, the driver, or nobody says.
enum class StatedCounter : unsigned char { kUnknown, kAllocated, kReserved, kNvidiaSmi };
inline constexpr std::array<std::string_view, 4> kStatedCounterNames = {"unknown", "allocated", "reserved",
                                                                        "nvidia-smi"};

// The items of a notes cell: `key=value` (of a key that stands twice, the first), or free text.
class Notes {
 public:
  Notes() = default;
  explicit Notes(std::string_view cell);

  std::optional<std::string_view> find(std::string_view key) const;
  bool says(std::string_view key, std::string_view value) const { return find(key) == value; }
  // The first word of a value: "alternate" of "alternate (dense;moe;...)".
  std::optional<std::string_view> word(std::string_view key) const;
  bool has(std::string_view text) const;     // an item that is just this
  bool starts(std::string_view text) const;  // an item without a key that begins with this

 private:
  std::vector<std::pair<std::string, std::string>> items_;
  std::vector<std::string> texts_;
};

struct MeasuredRow {
  Position at;  // of the row's first cell

  std::string id, source, cluster, gpu, model, stack;
  std::optional<std::int64_t> gpus, gpus_per_node;

  std::optional<std::int64_t> layers, hidden, heads, kv_heads, head_dim, ffn, vocab, seq;
  std::optional<MlpKind> ffn_type;
  std::optional<Norm> norm;
  std::optional<Positions> positions;
  std::optional<bool> tied;
  std::optional<std::int64_t> experts, top_k, expert_ffn, shared_experts, shared_expert_ffn, dense_layers;

  std::optional<std::int64_t> tp, pp, vpp, cp, ep, dp, zero, micro_batch, global_batch;
  std::optional<bool> sp;
  std::optional<Dtype> precision;
  std::optional<Recompute> recompute;
  std::optional<AttentionKind> attention;
  std::optional<RowSchedule> schedule;

  std::optional<Seconds> step;  // absent where the run failed
  std::optional<double> tokens_per_s_per_gpu;
  std::optional<Bytes> peak_memory;  // of the worst GPU
  std::optional<StatedCounter> memory_counter;
  std::vector<std::string> inferred;  // columns that the source does not state (the `assumed` column)
  Notes notes;

  // Columns that a table may lack, as words: docs/formats tells what they mean.
  std::string task, peft, pp_layout, cp_type, dispatcher, routing, recompute_modules, offload, cuda_graph;
  std::string fp8_recipe, fp8_scope, bf16_layers, pp_overlap;
  std::string dp_overlap, grad_reduce_dtype, optimizer, opt_state, sliding_window, group, lora_targets;
  std::optional<std::int64_t> etp, mtp, recompute_layers, lora_rank;
  std::optional<bool> packed, ep_overlap, shared_overlap, tp_overlap, fp8_params;

  bool failed() const { return !step && notes.find("failure").has_value(); }
};

// A row, and what is wrong with its cells, each with its place; a cell that is wrong counts as empty.
struct CheckedRow {
  MeasuredRow row;
  std::vector<Error> faults;
};
Result<std::vector<CheckedRow>> checked_rows(const CsvTable& table);
std::vector<std::string> unknown_columns(const CsvTable& table);

// The first fault is the table's.
Result<std::vector<MeasuredRow>> measured_rows(const CsvTable& table);

// Of a file, or of every *.csv in a folder, by file name.
Result<Sources> measured_sources(const Files& files, const std::string& file_or_folder);
// Columns that nobody knows, a misspelt one among them, are passed over, and named in `notes`.
Result<std::vector<MeasuredRow>> measured_rows_of(Sources tables, std::vector<std::string>& notes);
Result<std::vector<MeasuredRow>> read_measured_rows(const Files& files, const std::string& file_or_folder);

}  // namespace foretrain
