#include "validate/row_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "formats/pipeline_layout.h"
#include "spec/plan_text.h"
#include "validate/row_adapters.h"
#include "validate/spec_map.h"

namespace foretrain {

namespace {

bool lists(std::string_view joined, std::string_view word) {
  const auto words = split(joined, '+');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Where the row does not say, or says the same, they are those of the other weights.
void put_expert_tensor_ranks(SpecMap& map, const MeasuredRow& row) {
  if (row.etp) {
    if (row.etp != row.tp) map.put("etp", row.etp);
  } else {
    map.put_note("etp", row, "etp");
  }
}

void put_context_type(SpecMap& map, const MeasuredRow& row, std::vector<std::string>& assumed) {
  if (row.cp_type.empty() || row.cp_type == "none")
    assumed.emplace_back("cp_type of the stack");
  else
    map.put("cp_type", row.cp_type);
}

void put_degrees(SpecMap& map, const MeasuredRow& row, std::vector<std::string>& assumed) {
  map.put("tp", row.tp);
  map.put("pp", row.pp);
  map.put("vpp", row.vpp);
  map.put("cp", row.cp);
  map.put("ep", row.ep);
  if (row.experts.value_or(0) > 0) put_expert_tensor_ranks(map, row);
  map.put("dp", row.dp);
  const bool several = row.tp > 1;
  if (several) map.put_flag("sp", row.sp.value_or(false));
  if (several && !row.sp) assumed.emplace_back("sp=0");
  if (!row.vpp) assumed.emplace_back("vpp=1");
  if (!row.cp) assumed.emplace_back("cp=1");
  if (row.cp > 1) put_context_type(map, row, assumed);
  if (!row.ep) assumed.emplace_back("ep=1");
}

Result<void> put_stages(SpecMap& map, const MeasuredRow& row, std::vector<std::string>& assumed) {
  if (row.pp > 1 && !row.schedule) assumed.emplace_back("schedule=1f1b");
  map.put_note("layers_per_stage", row, "layers_per_stage");
  const std::string_view layout = row.pp_layout;
  if (layout.empty() || layout == "even" || map.has("layers_per_stage")) return {};
  const std::int64_t chunks = row.pp.value_or(1) * row.vpp.value_or(1);
  // Megatron's account_for_embedding_in_pipeline_split and its sister, which rows tell in words.
  const bool ends_count = layout.find("embedding and loss") != std::string_view::npos;
  TRY_ASSIGN(const auto layers,
             ends_count ? layers_beside_ends(*row.layers, chunks) : layers_of_layout(layout, chunks));
  map.put("layers_per_stage", std::string_view(fmt::format("{}", fmt::join(layers, "-"))));
  return {};
}

// A source may name modules ("moe_act+layernorm") beside the word that they are a case of.
void put_recomputation(SpecMap& map, const MeasuredRow& row) {
  const bool modules = !row.recompute_modules.empty() && row.recompute_modules != "none";
  if (modules && row.recompute != Recompute::kFull) {
    map.put("recompute", row.recompute_modules);
  } else {
    map.put("recompute", row.recompute, kRecomputeNames);
  }
  if (row.recompute == Recompute::kFull) map.put("recompute_layers", row.recompute_layers);
}

// The recipe that the row names, where its stack runs it; otherwise what the stack means by the precision.
void put_precision(SpecMap& map, const MeasuredRow& row, const Stack& stack,
                   std::vector<std::string>& assumed) {
  if (!row.precision || is_half(*row.precision)) return map.put("precision", row.precision, kDtypeNames);
  const bool stated = !row.fp8_recipe.empty() && row.fp8_recipe != "none";
  const std::string family(name(*row.precision));
  const std::string recipe = row.fp8_recipe == family ? family : fmt::format("{}-{}", family, row.fp8_recipe);
  const bool runs = stated && std::any_of(stack.recipes.begin(), stack.recipes.end(),
                                          [&](const Recipe& known) { return known.name == recipe; });
  map.put("precision", runs ? recipe : family);
  if (!runs)
    assumed.push_back(stated ? fmt::format("{} as the stack's {}", recipe, family)
                             : fmt::format("{} recipe of the stack", family));
  // The column says how updated parameters are gathered, and frozen ones are not.
  if (row.fp8_params && (row.peft.empty() || row.peft == "none")) map.put_flag("fp8_params", *row.fp8_params);
  if (!row.bf16_layers.empty()) map.put("bf16_layers", row.bf16_layers);
  if (lists(row.fp8_scope, "attention")) map.put("fp8_attention", "true");
  if (lists(row.fp8_scope, "lm_head")) map.put("fp8_head", "true");
}

// Gradients and states of the optimizer.
void put_gradients(SpecMap& map, const MeasuredRow& row, const Stack& stack) {
  map.put_note("grad_dtype", row, "grad_accum_dtype");
  const std::string_view noted = row.notes.find("grad_reduce_dtype").value_or("");
  const std::string_view stated = row.grad_reduce_dtype.empty() ? noted : row.grad_reduce_dtype;
  if (!stated.empty()) {
    map.put("reduce_dtype", stated);
    // Gradients that are added up where they are reduced have one format.
    if (stack.gradients.fused_accumulation && !map.has("grad_dtype")) map.put("grad_dtype", stated);
  } else if (row.notes.has("MP Mode PURE")) {  // Composer's words for torch FSDP's mixed precision
    if (row.precision && is_half(*row.precision)) map.put("reduce_dtype", row.precision, kDtypeNames);
  } else if (row.notes.has("MP Mode DEFAULT")) {
    map.put("reduce_dtype", "fp32");
  }
  if (row.opt_state == "bf16" || lists(row.opt_state, "m:bf16")) map.put("optimizer", "adamw_bf16");
}

void put_overlaps(SpecMap& map, const MeasuredRow& row) {
  if (row.tp_overlap) map.put_flag("tp_overlap", *row.tp_overlap);
  if (row.notes.says("comm_overlap", "0")) {
    map.put("overlap_grad_reduce", "false");
  } else if (!row.dp_overlap.empty()) {
    map.put_flag("overlap_grad_reduce", lists(row.dp_overlap, "grad_reduce"));
    map.put_flag("overlap_param_gather", lists(row.dp_overlap, "param_gather"));
  }
}

// "capacity": an expert takes at most the mean; "natural capacity 2": twice that.
void put_routing(SpecMap& map, const MeasuredRow& row) {
  constexpr std::string_view kCapacity = "capacity";
  if (row.routing == "forced") map.put("expert_imbalance", "1");
  const std::size_t at = row.routing.find(kCapacity);
  const auto noted = row.notes.word("capacity_factor");
  if (at == std::string::npos && !noted) return;
  std::string_view factor = noted.value_or("1");
  if (at != std::string::npos && !noted) {
    const std::string_view rest = trim(std::string_view(row.routing).substr(at + kCapacity.size()));
    if (!rest.empty()) factor = rest;
  }
  map.put("capacity_factor", factor);
  const bool padded =
      row.notes.has("capacity factor 1 with padding") ||
      row.notes.find("capacity_factor").value_or("").find("padding") != std::string_view::npos;
  if (padded) map.put("capacity_pad", "true");
}

bool has_loop(const Stack& stack) {
  const auto& loops = stack.parts.experts_loop;
  return std::any_of(loops.begin(), loops.end(), [](const Part& part) { return !part.empty(); });
}

// Where the stack tells the two apart.
void put_fusion(SpecMap& map, std::string_view key, Condition fused, const Stack& stack) {
  if (has_condition(stack, fused)) map.put(key, "true");
}

void put_experts(SpecMap& map, const MeasuredRow& row, const Stack& stack,
                 std::vector<std::string>& assumed) {
  if (row.experts.value_or(0) == 0) return;
  if (!row.dispatcher.empty() && row.dispatcher != "none") map.put("dispatcher", row.dispatcher);
  put_routing(map, row);
  if (row.ep_overlap == true) map.put("overlap_dispatch", "true");
  if (row.shared_overlap) map.put_flag("overlap_shared", *row.shared_overlap);
  // Primus' first stage of it: both fusions, and DeepEP's own wait remains.
  const bool fused = row.notes.starts("+ sync-free MoE");
  if (fused || row.notes.has("permute fusion"))
    put_fusion(map, "permute_fusion", Condition::kPermuteFused, stack);
  if (fused) put_fusion(map, "router_fusion", Condition::kRouterFused, stack);
  if (row.notes.says("experts_impl", "eager")) map.put("expert_products", "loop");
  // Megatron's loop over the few experts of a rank: the same products, one after the other.
  if (row.notes.starts("experts not grouped")) {
    if (has_loop(stack)) {
      map.put("expert_products", "loop");
    } else {
      assumed.emplace_back("experts in one grouped product");
    }
  }
}

// What is captured cannot wait for how many rows each expert gets: experts in it take as many as they may, or there is
// no such wait.
void put_graphs(SpecMap& map, const MeasuredRow& row, const Stack& stack, std::vector<std::string>& assumed) {
  const std::string_view word = row.cuda_graph;
  if (word.empty() || word == kNoGraph) {
    if (!stack.cuda_graphs.scope.empty()) map.put("cuda_graph", kNoGraph);
    return;
  }
  // Rows that NCCL brings to a rank change in number: of layers with experts, what stands before them is captured.
  const bool nccl = row.dispatcher == "alltoall" || row.dispatcher == "allgather";
  if (word == "layer" && row.experts.value_or(0) > 0 && row.ep.value_or(1) > 1 && nccl &&
      !map.has("capacity_factor")) {
    map.put("cuda_graph", "attn+mlp+moe_router");
    assumed.emplace_back("cuda_graph=attn+mlp+moe_router");
    return;
  }
  map.put("cuda_graph", word);
  const bool experts = word == "layer" || lists(word, "moe") || word == kFullIteration;
  if (row.experts.value_or(0) == 0 || !experts) return;
  if (map.has("capacity_factor") && !map.has("capacity_pad"))
    map.put("capacity_pad", "true");
  else if (!map.has("capacity_pad"))
    map.put("expert_sync", "false");
}

// What a row says of its run that a plan has no key for, where the run is still the same training.
void assume_plain(const MeasuredRow& row, std::vector<std::string>& assumed) {
  if (!row.attention) assumed.emplace_back("attention of the stack");
  if (lists(row.dp_overlap, "optimizer_step")) assumed.emplace_back("no overlap of the optimizer's step");
}

}  // namespace

Result<Plan> plan_of(const MeasuredRow& row, const Stack& stack, std::vector<std::string>& assumed) {
  SpecMap map;
  put_degrees(map, row, assumed);
  map.put("zero", row.zero);
  // Ranks that share one copy of what ZeRO divides; "dp" or "all": all that hold the same weights.
  for (const std::string_view note : {"fsdp_group", "zero_group"})
    if (row.zero.value_or(0) >= 1 && row.notes.find(note) && !row.notes.says(note, "dp") &&
        !row.notes.says(note, "all")) {
      map.put_note("shard", row, note);
      break;
    }
  map.put("micro_batch", row.micro_batch);
  put_precision(map, row, stack, assumed);
  map.put("attention", row.attention, kAttentionNames);
  put_recomputation(map, row);
  put_gradients(map, row, stack);
  put_optimizer(map, row);
  put_adapters(map, row, assumed);
  put_overlaps(map, row);
  put_experts(map, row, stack, assumed);
  put_graphs(map, row, stack, assumed);
  if (row.notes.has("cross-entropy fusion on")) put_fusion(map, "loss_fusion", Condition::kLossFused, stack);
  map.put_note("fp8_activation_store", row, "activation_func_fp8_input_store");
  map.put_note("partition_activations", row, "partition_activations");
  map.put_note("sp_gather_again", row, "sp_gather_again");
  TRY(put_stages(map, row, assumed));
  assume_plain(row, assumed);
  return parse_plan(map.node());
}

}  // namespace foretrain
