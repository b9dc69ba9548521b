#include "validate/row_spec.h"

#include <fmt/format.h>

#include "base/check.h"
#include "spec/model_text.h"
#include "spec/plan_text.h"

namespace foretrain {

namespace {

// The map that a YAML file would hold.
class SpecMap {
 public:
  SpecMap() { map_.kind = Node::Kind::kMap; }

  void put(std::string_view key, std::string_view word) {
    Node value;
    value.kind = Node::Kind::kScalar;
    value.scalar = word;
    map_.entries.emplace_back(std::string(key), std::move(value));
    map_.key_at.emplace_back();
  }
  void put(std::string_view key, std::int64_t count) { put(key, std::string_view(std::to_string(count))); }
  void put(std::string_view key, std::optional<std::int64_t> count) {
    if (count) put(key, *count);
  }
  template <class E, std::size_t n>
  void put(std::string_view key, std::optional<E> choice, const std::array<std::string_view, n>& names) {
    if (choice) put(key, names[static_cast<std::size_t>(*choice)]);
  }
  void put_note(std::string_view key, const MeasuredRow& row, std::string_view note) {
    if (const auto value = row.notes.find(note)) put(key, *value);
  }

  const Node& node() const { return map_; }

 private:
  Node map_;
};

// Hugging Face's model types (note `family`) that differ from what their norm and positions suggest.
struct Family {
  std::string_view name;
  bool fused_qkv;
  Gelu gelu;
};
constexpr Family kFamilies[] = {{"gpt_neo", false, Gelu::kTanh}, {"gptj", false, Gelu::kTanh},
                                {"codegen", true, Gelu::kTanh},  {"bloom", true, Gelu::kTanh},
                                {"phi", false, Gelu::kTanh},     {"phi3", true, Gelu::kErf},
                                {"stablelm", false, Gelu::kErf}, {"olmo", false, Gelu::kErf},
                                {"opt", false, Gelu::kErf},      {"starcoder2", false, Gelu::kErf}};

void put_forms(SpecMap& map, const MeasuredRow& row) {
  if (row.notes.says("qk_layernorm", "1") || row.notes.says("family", "qwen3")) map.put("qk_norm", "true");
  for (const Family& family : kFamilies)
    if (row.notes.says("family", family.name)) {
      map.put("fused_qkv", family.fused_qkv ? "true" : "false");
      map.put("gelu", kGeluNames[static_cast<std::size_t>(family.gelu)]);
    }
}

}  // namespace

Result<Model> model_of(const MeasuredRow& row, std::vector<std::string>& assumed) {
  CHECK_THAT(row.norm && row.heads && row.tied);
  SpecMap map;
  map.put("name", row.model);
  map.put("layers", row.layers);
  map.put("hidden", row.hidden);
  map.put("heads", row.heads);
  map.put("kv_heads", row.kv_heads);
  if (!row.kv_heads) assumed.push_back(fmt::format("kv_heads={}", *row.heads));
  map.put("head_dim", row.head_dim);
  map.put("ffn", row.ffn);
  map.put("mlp", row.ffn_type, kMlpNames);
  map.put("norm", row.norm, kNormNames);
  map.put("positions", row.positions, kPositionsNames);
  if (row.positions == Positions::kLearned) map.put("max_positions", row.seq);
  map.put("vocab", row.vocab);
  map.put("tied", *row.tied ? "true" : "false");
  map.put_note("rotary_fraction", row, "rotary_fraction");
  map.put_note("residual", row, "residual");
  map.put_note("qkv_bias", row, "qkv_bias");
  put_forms(map, row);

  const bool gpt = row.norm == Norm::kLayernorm;
  if (row.notes.find("biases")) {
    map.put_note("biases", row, "biases");
  } else {
    map.put("biases", gpt ? "1" : "0");
    assumed.push_back(gpt ? "biases=1" : "biases=0");
  }
  if (!gpt) map.put("dropout", "0");
  assumed.push_back(gpt ? "dropout of the stack" : "dropout=0");
  return parse_model(map.node());
}

Result<Plan> plan_of(const MeasuredRow& row, std::vector<std::string>& assumed) {
  SpecMap map;
  map.put("tp", row.tp);
  map.put("pp", row.pp);
  map.put("vpp", row.vpp);
  map.put("cp", row.cp);
  map.put("ep", row.ep);
  map.put("dp", row.dp);
  map.put("zero", row.zero);
  map.put("micro_batch", row.micro_batch);
  map.put("precision", row.precision, kDtypeNames);
  map.put("recompute", row.recompute, kRecomputeNames);
  map.put("attention", row.attention, kAttentionNames);
  map.put_note("grad_dtype", row, "grad_accum_dtype");
  if (row.notes.find("grad_reduce_dtype")) {
    map.put_note("reduce_dtype", row, "grad_reduce_dtype");
  } else if (row.notes.has("MP Mode PURE")) {  // Composer's words for torch FSDP's mixed precision
    map.put("reduce_dtype", row.precision, kDtypeNames);
  } else if (row.notes.has("MP Mode DEFAULT")) {
    map.put("reduce_dtype", "fp32");
  }
  // Ranks that share one copy of what ZeRO divides; "dp": all of them.
  for (const std::string_view note : {"fsdp_group", "zero_group"})
    if (row.zero.value_or(0) >= 1 && row.notes.find(note) && !row.notes.says(note, "dp")) {
      map.put_note("shard", row, note);
      break;
    }
  map.put_note("layers_per_stage", row, "layers_per_stage");
  map.put_note("partition_activations", row, "partition_activations");
  if (row.notes.says("comm_overlap", "0")) map.put("overlap_grad_reduce", "false");

  const bool several = row.tp > 1;
  if (several) map.put("sp", row.sp.value_or(false) ? "true" : "false");
  if (several && !row.sp) assumed.push_back("sp=0");
  if (!row.vpp) assumed.push_back("vpp=1");
  if (!row.cp) assumed.push_back("cp=1");
  if (!row.ep) assumed.push_back("ep=1");
  if (!row.attention) assumed.push_back("attention of the stack");
  if (row.pp > 1 && !row.schedule) assumed.push_back("schedule=1f1b");
  return parse_plan(map.node());
}

}  // namespace foretrain
