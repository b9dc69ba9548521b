// The fields of a plan, in the order in which its text states them.
#pragma once

#include "spec/field.h"
#include "spec/plan.h"
#include "spec/recipe_fields.h"

namespace foretrain {

inline constexpr std::int64_t kMaxDegree = 1'000'000;

// Layers of each stage, or of each chunk: a list in YAML, "11-12-12-9" on the command line.
struct LayerList {
  std::int64_t most_layers = 0;  // of a stage
  std::size_t most_stages = 0;
};

// Some of these words: a list in YAML, joined by + on the command line.
struct SomeOf {
  std::span<const std::string_view> names;
};

// Modules that adapters stand beside, likewise.
struct LoraModules {};

// What is captured, likewise; or none.
struct GraphScope {};

inline constexpr std::string_view kStacksOwn = "the stack's";
inline constexpr std::string_view kRecipesOwn = "the recipe's";

inline constexpr auto kPlanFields = std::tuple{
    field("tp", &Plan::tp, WholeNumber{1, kMaxDegree}, "tensor-parallel ranks"),
    field("sp", &Plan::sp, Flag{}, "sequence parallelism in the tensor group", {}, "needs tp > 1"),
    field("pp", &Plan::pp, WholeNumber{1, kMaxDegree}, "pipeline stages"),
    field("vpp", &Plan::vpp, WholeNumber{1, kMaxDegree},
          "chunks of layers on each stage, dealt in turns; more than 1 makes `1f1b` `interleaved`", {},
          "needs pp > 1"),
    field("cp", &Plan::cp, WholeNumber{1, kMaxDegree},
          "context-parallel ranks: each has an equal share of every sequence's tokens", {},
          "2 cp divides seq (with `a2a`: cp does); more than 1 needs `flash` attention and a stack that has "
          "it"),
    field(
        "cp_type", &Plan::cp_type, OneOf{kCpTypeNames},
        "how they attend to one another's tokens. `p2p`: keys and values go round a ring, beside the work on "
        "the block before; `a2a`: all-to-alls exchange tokens for heads; `allgather`: keys and values are "
        "gathered; `a2a+p2p`: `a2a` among neighbours, a ring of these groups",
        kStacksOwn, "see below"),
    field("cp_a2a", &Plan::cp_a2a, WholeNumber{0, kMaxDegree},
          "of `cp_type=a2a+p2p`: context-parallel ranks, neighbours, of each all-to-all", {},
          "more than 1 and less than cp, which it divides"),
    field(
        "ep", &Plan::ep, WholeNumber{1, kMaxDegree},
        "expert-parallel ranks: of a stage's tp cp dp ranks, neighbours (etp apart) that divide the experts",
        {}, "needs a model with experts, whose number it divides; ep etp divides tp cp dp"),
    field("etp", &Plan::etp, WholeNumber{1, kMaxDegree}, "tensor-parallel ranks of each expert, neighbours",
          "tp", "divides expert_ffn"),
    field("dp", &Plan::dp, WholeNumber{1, kMaxDegree}, "data-parallel ranks", "gpus / (tp pp cp)",
          "equal to that"),
    field("zero", &Plan::zero, WholeNumber{0, 3},
          "0: none, 1: optimizer states divided over data-parallel ranks, 2: gradients too, 3: weights too "
          "(FSDP)"),
    field("shard", &Plan::shard, WholeNumber{0, kMaxDegree},
          "data-parallel ranks, neighbours, that share one copy of what `zero` divides; the others hold "
          "replicas (HSDP). 0: all of them",
          {}, "needs zero 1 to 3; divides dp cp"),
    field("micro_batch", &Plan::micro_batch, WholeNumber{1, kMaxDegree}, "sequences of one pass"),
    field("recompute", &Plan::recompute, OneOf{kRecomputeNames},
          "what is run again in the backward instead of being kept"),
    field("recompute_layers", &Plan::recompute_layers, WholeNumber{0, 10'000},
          "of `recompute=full`: the first so many layers of each chunk; 0: all"),
    field(
        "recompute_modules", &Plan::recompute_modules, SomeOf{kRecomputeModuleNames},
        "of `recompute=selective`: which modules are run again, joined by `+`; `recompute=moe_act+layernorm` "
        "says both at once",
        "`core_attn`"),
    field("schedule", &Plan::schedule, OneOf{kScheduleNames}, "the order of passes on each stage", {},
          "see below"),
    field("precision", &Plan::precision, FreeText{},
          "the precision recipe (see [recipe.md](recipe.md)): its name, or `bf16`, `fp16`, `fp8`, `mxfp8`, "
          "`nvfp4` for the first of that family that the stack lists",
          {}, "one that the stack runs, in formats that the GPU has"),
    field(
        "fp8_params", &Plan::fp8_params, Flag{},
        "blocks' weights are kept in the recipe's format beside the fp32 copy, and gathered in it where the "
        "recipe says so",
        kRecipesOwn, "needs a recipe with products in fewer bits, and master weights"),
    field("bf16_layers", &Plan::bf16_layers, EndsText{kMostEndLayers},
          "layers at the model's start and end that stay in the format of the passes, as `1-1`", kRecipesOwn,
          "likewise; no more than the model has"),
    field("fp8_attention", &Plan::fp8_attention, Flag{}, "attention in the recipe's format", kRecipesOwn,
          "likewise; needs `flash` attention"),
    field("fp8_head", &Plan::fp8_head, Flag{}, "the model's last product in the recipe's format", kRecipesOwn,
          "likewise"),
    field("fp8_activation_store", &Plan::fp8_activation_store, Flag{},
          "what swiglu read is kept for its backward as a plain cast to fp8, and cast back there (Megatron's "
          "activation_func_fp8_input_store)",
          {}, "a stack that can, and an mlp of swiglu; whatever the precision"),
    field("attention", &Plan::attention, OneOf{kAttentionNames}, "how attention is computed", kStacksOwn),
    field("attention_kernel", &Plan::attention_kernel, OneOf{kAttentionKernelNames},
          "of `attention=flash`: whose kernels, FlashAttention 2 or 3 or cuDNN's; `attention=flash2` says "
          "both at "
          "once",
          kStacksOwn, "needs `flash` attention"),
    field("expert_products", &Plan::expert_products, OneOf{kExpertProductsNames},
          "a rank's experts in one product of all their rows, or one after the other", "grouped",
          "`loop` needs a stack that has it"),
    field("grad_dtype", &Plan::grad_dtype, OneOf{kDtypeNames}, "gradients are accumulated in it", kStacksOwn,
          "**all but `fp32`, `bf16` and `fp16` not yet**"),
    field("reduce_dtype", &Plan::reduce_dtype, OneOf{kDtypeNames},
          "and reduced over data-parallel ranks in it", kStacksOwn, "likewise"),
    field("loss", &Plan::loss, OneOf{kLossNames},
          "the head's product and the loss: `whole`: of all tokens at once; `chunked`: in pieces of tokens, "
          "each with its backward right after its forward, so that the logits of one are there at once; "
          "`fused`: so in one kernel that puts the gradient where the logits were (Liger)",
          kStacksOwn, "what the stack offers; `fused` needs tp 1"),
    field("loss_chunks", &Plan::loss_chunks, WholeNumber{0, 65'536},
          "pieces of `loss=chunked` or `fused`; 0: the stack's number, or as many as Liger makes", {},
          "needs one of them; divides no further than tokens"),
    field("loss_fusion", &Plan::loss_fusion, Flag{},
          "the loss by a few kernels on logits as they are, not by a chain of the framework's in fp32",
          kStacksOwn, "as permute_fusion"),
    field("mlp_chunks", &Plan::mlp_chunks, WholeNumber{1, 65'536},
          "pieces of tokens in which a dense MLP is worked off, each run again in the backward (TiledMLP): "
          "of all that the MLP keeps, its input alone stays",
          {}, "needs a dense MLP that is not run again by itself"),
    field("document_imbalance", &Plan::document_imbalance, RealNumber{1.0, 1'000.0},
          "attention of the rank with the longest documents over the mean; data-parallel ranks wait for it",
          "1, of random documents as expected of so many ranks", "needs `documents` of the run"),
    field("offload", &Plan::offload, Flag{},
          "what blocks keep for their backward waits in the host's memory; copies run beside the passes, "
          "which last at least as long"),
    field(
        "optimizer", &Plan::optimizer, OneOf{kOptimizerNames},
        "whose states are kept and whose update is run; `muon` makes the blocks' matrices orthogonal by five "
        "Newton-Schulz iterations, whose products are timed, each rank those it owns. `paged_adamw_8bit` and "
        "`paged_adamw_32bit` say `paged=1` too"),
    field(
        "paged", &Plan::paged, Flag{},
        "the optimizer's states lie in unified memory: on the GPU, and of what does not fit beside the rest "
        "a part in the host's memory, fetched and sent back in each step (bitsandbytes)"),
    field(
        "offload_optimizer", &Plan::offload_optimizer, Flag{},
        "states and master copy lie in the host's memory, where its CPU updates them; gradients go down and "
        "weights come up over PCIe (ZeRO-Offload)"),
    field("master_weights", &Plan::master_weights, Flag{}, "an fp32 copy of half-precision weights",
          kStacksOwn),
    field("sp_gather_again", &Plan::sp_gather_again, Flag{},
          "under sp, the gathered input of a product is not kept but gathered again in the backward",
          kStacksOwn),
    field("tp_overlap", &Plan::tp_overlap, Flag{},
          "under sp, products run beside the collectives of their inputs and outputs, piece by piece "
          "(Transformer Engine's user buffers)",
          kStacksOwn),
    field("overlap_grad_reduce", &Plan::overlap_grad_reduce, Flag{},
          "1: the reduction may start during the last backward, in the buckets of the stack, so a stack with "
          "one bucket gains nothing; with several chunks a stage, those of a chunk whose passes are over run "
          "beside the other chunks'. 0: nothing is reduced before the stage's last pass is over, of "
          "whichever chunk. With ZeRO 2 and 3: block by block beside every backward, otherwise compute waits "
          "for each",
          kStacksOwn),
    field("overlap_param_gather", &Plan::overlap_param_gather, Flag{},
          "of ZeRO 1 (and 2, where the stack gathers by step): updated weights are gathered beside the next "
          "step's first forward, in the stack's buckets",
          kStacksOwn),
    field("partition_activations", &Plan::partition_activations, Flag{},
          "under full recomputation, checkpoints are divided over tp and gathered again", "false"),
    field(
        "dispatcher", &Plan::dispatcher, OneOf{kDispatcherNames},
        "how tokens reach the ranks of their experts. `allgather`: all to all ranks; `alltoall`: a copy for "
        "each expert, by NCCL; `deepep`, `hybridep`: one copy for each rank, or node, that holds any of them",
        kStacksOwn),
    field("dispatch_dtype", &Plan::dispatch_dtype, OneOf{kDtypeNames},
          "tokens travel to their experts in it (`fp8`), and back in the precision", "the precision",
          "of `deepep` and `hybridep`"),
    field("capacity_factor", &Plan::capacity_factor, RealNumber{0.0, 1'000.0},
          "most rows that an expert takes, over the mean; what is more is dropped. 0: all are taken"),
    field("capacity_pad", &Plan::capacity_pad, Flag{},
          "every expert works on so many rows, filled up; the host need not wait for counts", {},
          "needs capacity_factor"),
    field("expert_imbalance", &Plan::expert_imbalance, RealNumber{1.0, 1'000.0},
          "rows of the fullest expert-parallel rank over the mean; 1: balanced. Time and memory follow the "
          "fullest rank",
          "1.2 with ep > 1"),
    field("expert_sync", &Plan::expert_sync, Flag{},
          "the host waits, in every forward of a layer with experts, for how many rows each gets; 0: and for "
          "nothing else that its operators make",
          kStacksOwn),
    field(
        "permute_fusion", &Plan::permute_fusion, Flag{},
        "rows are moved to their experts and back by one kernel each, not by a chain of the framework's that "
        "the host waits for",
        kStacksOwn, "0 or 1 where the stack says what it launches then"),
    field("router_fusion", &Plan::router_fusion, Flag{},
          "the router chooses and weighs by a few kernels, not by a chain of the framework's", kStacksOwn,
          "as permute_fusion"),
    field("overlap_dispatch", &Plan::overlap_dispatch, Flag{},
          "tokens travel beside the work of another micro-batch", {}, "needs ep > 1 and two micro-batches"),
    field("overlap_shared", &Plan::overlap_shared, Flag{}, "shared experts work while tokens travel",
          kStacksOwn),
    field("lora", &Plan::lora, WholeNumber{0, 65'536},
          "rank of adapters, which alone are trained; 0: none, and the whole model is"),
    field("lora_targets", &Plan::lora_targets, LoraModules{},
          "products that have an adapter. `attention`: the first four; `mlp`: the next three; `all`: every "
          "product but the head's. Megatron's `linear_qkv`, `linear_proj`, `linear_fc1`, `linear_fc2` are "
          "known too",
          "`all`", "needs lora"),
    field("lora_dtype", &Plan::lora_dtype, OneOf{kDtypeNames}, "of adapters and their gradients", kStacksOwn,
          "`fp32`, or the precision; needs lora"),
    field("lora_dropout", &Plan::lora_dropout, Flag{}, "what adapters read is dropped out", {}, "needs lora"),
    field("base", &Plan::base, OneOf{kBaseFormatNames},
          "format of the frozen products' weights; embedding, norms, experts and head stay in the precision",
          "the precision", "needs lora; `int8` not with zero 3"),
    field("double_quant", &Plan::double_quant, Flag{},
          "scales of `nf4` are quantised too: 4.127 bits a weight", kStacksOwn, "needs base=nf4"),
    field(
        "cuda_graph", &Plan::cuda_graph, GraphScope{},
        "what is captured as CUDA graphs, each one launch: modules of a layer as Megatron names them, joined "
        "by `+` (`attn+moe_router+moe_preprocess`); `layer`: all of each layer; `full`, or `full_iteration`: "
        "the forwards and backwards of a whole step",
        kStacksOwn,
        "what the stack can capture; nothing for which the host waits: `moe`, and with experts `layer` and "
        "`full`, need expert_sync=0 or capacity_pad=1; `moe_preprocess` needs `moe_router`; all but `full` "
        "not "
        "with recompute=full"),
    field("layers_per_stage", &Plan::layers_per_stage, LayerList{10'000, 20'000},
          "layers of each stage; or of each chunk, in the model's order", "the stack's rule, over all chunks",
          "pp entries, or one for each chunk, that sum to the layers"),
};

// The field of a member: plan_field<&Plan::tp>.key is "tp".
template <auto kMember>
inline constexpr const auto& plan_field = std::get<index_of<kMember>(kPlanFields)>(kPlanFields);

}  // namespace foretrain
