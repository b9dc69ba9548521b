// The fields of a stack's sections, as in its file; its parts are read by hand (stack_text.cc).
#pragma once

#include "spec/field.h"
#include "spec/stack.h"

namespace foretrain {

inline constexpr std::int64_t kMaxLaunches = 10'000;
inline constexpr std::int64_t kMaxCopies = 16;

// A flag that is set by naming a number format; bf16 says that it is not.
struct StoredAs {
  Dtype dtype{};
};

// A number format in which gradients can be kept: fp32, fp16 or bf16.
struct GradientFormat {};

// A list of words, each of which may stand in it.
struct ListOf {
  std::span<const std::string_view> names;
};

// A map in the file: the member of the same name, and its fields.
template <class Section, class Fields>
struct StackSection {
  std::string_view key;
  Section Stack::*member;
  Fields fields;
};

inline constexpr auto kStackFields = std::tuple{
    field("name", &Stack::name, FreeText{}, "as reports call it", "the file's name"),
    field("source", &Stack::source, FreeText{}, "where its figures come from", "empty"),
    field("described", &Stack::described, OneOf{kDescribedNames},
          "what its counts rest on: measured steps of the framework, its sources and papers, or neither; the "
          "less is known, the wider are intervals"),
    field("default_attention", &Stack::default_attention, OneOf{kAttentionNames}, "where the plan is silent"),
    field("default_dropout", &Stack::default_dropout, RealNumber{0.0, 0.99}, "where the model is silent"),
};

inline constexpr auto kGradientFields = std::tuple{
    field("dtype", &Stack::Gradients::dtype, GradientFormat{}, "accumulated in"),
    field("reduce_dtype", &Stack::Gradients::reduce_dtype, GradientFormat{},
          "reduced over data-parallel ranks in"),
    field("fp16_stays", &Stack::Gradients::fp16_stays, Flag{}, "fp16 runs keep and reduce gradients in fp16"),
    field("fused_accumulation", &Stack::Gradients::fused_accumulation, Flag{},
          "the product adds into the accumulated gradient itself"),
    field("autograd_copies", &Stack::Gradients::autograd_copies, Flag{},
          "autograd's own gradients, in the plan's precision, live until a backward ends and are then added "
          "to the accumulated ones"),
};

inline constexpr auto kStateFields = std::tuple{
    field("master_weights", &Stack::States::master_weights, Flag{}, "an fp32 copy of half-precision weights"),
    field("moments", &Stack::States::moments, OneOf{kDtypeNames}, "format of Adam's two moments"),
    field("lazy_gradients", &Stack::States::lazy_gradients, Flag{},
          "gradients are freed after each step and made again by its first backward: with one micro-batch "
          "they do not add to the activations' peak"),
    field("weights", &Stack::States::fp32_weights, StoredAs{Dtype::kFp32},
          "weights are kept in fp32, which is the master copy, and cast for use", "of the plan's precision"),
    field(
        "torch_workspaces", &Stack::States::torch_workspaces, WholeNumber{0, 64},
        "workspaces of cuBLAS that torch keeps among its tensors, one a thread that multiplies: 32 MiB each "
        "on Hopper and Blackwell, 128 on MI300 and MI350, 8.1 on others"),
    field("engine_workspaces", &Stack::States::engine_workspaces, WholeNumber{0, 64},
          "those of Transformer Engine: 32 MiB on Hopper, Blackwell and MI300, 64 on MI350, 4 on others"),
    field("grouped_workspaces", &Stack::States::grouped_workspaces, WholeNumber{0, 64},
          "of its grouped products, where a rank has experts: one a stream"),
};

inline constexpr auto kRecomputationFields = std::tuple{
    field("stops_early", &Stack::Recomputation::stops_early, Flag{},
          "full recomputation ends when the last tensor that the backward needs is there: what follows it, "
          "and a product that ends the block, are not run again (`torch.utils.checkpoint` without reentry)"),
};

inline constexpr auto kTensorParallelFields = std::tuple{
    field("blocking", &Stack::TensorParallel::blocking, Flag{},
          "compute waits for the backward's collective; otherwise the weight gradient runs beside it"),
    field("overlap", &Stack::TensorParallel::overlap, Flag{},
          "under sp, products run beside the collectives of their inputs and outputs, piece by piece (user "
          "buffers); how much of a first or last piece is not hidden is left out"),
    field("parallel_all_reduces", &Stack::TensorParallel::parallel_all_reduces, WholeNumber{1, 2},
          "all-reduces of a block with parallel residual; 2: one for each half, as the backward always has "
          "with `sp`"),
    field("sp_gather_again", &Stack::TensorParallel::sp_gather_again, Flag{},
          "under sp, the gathered input of a product is not kept"),
    field(
        "sp_copies", &Stack::TensorParallel::sp_copies, Flag{},
        "under sp, activations are copied after each gather and before each scatter: samples, not positions, "
        "are their outermost dimension"),
    field("sp_buffers", &Stack::TensorParallel::sp_buffers, WholeNumber{0, kMaxCopies},
          "whole activations in which sp gathers, kept from pass to pass"),
    field("vocab_multiple", &Stack::TensorParallel::vocab_multiple, WholeNumber{1, 1'000'000},
          "the vocabulary is padded to a multiple of this times tp"),
};

inline constexpr auto kContextParallelFields = std::tuple{
    field("types", &Stack::ContextParallel::types, ListOf{kCpTypeNames},
          "ways of context parallelism that it has; none: cp > 1 is refused", "empty"),
    field("type", &Stack::ContextParallel::type, OneOf{kCpTypeNames}, "where the plan is silent"),
    field("copies_kv", &Stack::ContextParallel::copies_kv, Flag{},
          "all-to-alls among more ranks than there are heads of keys and values copy these; otherwise such "
          "plans are refused"),
    field("repeats_kv", &Stack::ContextParallel::repeats_kv, Flag{},
          "keys and values travel repeated for each query head"),
    field("latent_by_a2a", &Stack::ContextParallel::latent_by_a2a, Flag{},
          "latent attention goes with `a2a` and `allgather` too"),
};

inline constexpr auto kPipelineFields = std::tuple{
    field("split", &Stack::Pipeline::split, OneOf{kStageSplitNames},
          "how layers are dealt over all chunks of all stages. `cost`: the head counts as work; "
          "`pipeline_layers`: embedding, norm and head count as layers"),
    field("blocking", &Stack::Pipeline::blocking, Flag{},
          "sends and receives stop compute, and drain the host's lead"),
    field("serial", &Stack::Pipeline::serial, Flag{},
          "receives stop compute too, one after the other with the sends; else they come in beside them"),
    field("sends_mask", &Stack::Pipeline::sends_mask, Flag{}, "the s x s attention mask travels forward too"),
    field("scatter_gather", &Stack::Pipeline::scatter_gather, Flag{},
          "each tensor rank sends its share, then the group gathers"),
};

inline constexpr auto kDataParallelFields = std::tuple{
    field("overlap", &Stack::DataParallel::overlap, Flag{},
          "gradients are reduced beside the last backward; otherwise when the stage's last pass is over"),
    field("bucket_elements", &Stack::DataParallel::bucket_elements, WholeNumber{0, 1'000'000'000'000},
          "elements of a bucket; 0: one bucket"),
    field("zero_reduce_scatter", &Stack::DataParallel::zero_reduce_scatter, Flag{},
          "gradients are reduced to shards; otherwise all-reduced, though a rank needs but its shard"),
    field("overlap_param_gather", &Stack::DataParallel::overlap_param_gather, Flag{},
          "ZeRO 1 and 2: updated weights are gathered beside the next forward, bucket by bucket"),
    field("prefetch", &Stack::DataParallel::prefetch, OneOf{kPrefetchNames},
          "ZeRO 3: when the next block's weights are gathered. `before`: with the work of the block before "
          "it; `after`: after that work, before its gradients are reduced; `none`: when the block begins"),
    field("reshard_after_forward", &Stack::DataParallel::reshard_after_forward, Flag{},
          "ZeRO 3 drops a block's weights after its forward and gathers them again"),
    field("zero2_gather", &Stack::DataParallel::zero2_gather, OneOf{kZero2GatherNames},
          "ZeRO 2 puts weights together `step`: after the update; `forward`: in every forward, dropped after "
          "the backward"),
    field(
        "shard_exchange", &Stack::DataParallel::shard_exchange, OneOf{kShardExchangeNames},
        "how shards become whole. `flat`: one gather, where they lie; `tensor`: one for each tensor; `rank`: "
        "a broadcast of each rank's; `tensor_and_rank`: one gather, then a copy for each tensor and rank; "
        "`synchronised`: a gather and a copy of each rank's shard for each tensor, and the host waits. In "
        "passes (ZeRO 3) only `tensor` and `synchronised` differ from `flat`"),
    field("gradient_copies", &Stack::DataParallel::gradient_copies, WholeNumber{0, 1'000},
          "times that whole gradients are copied before ZeRO 2 and 3 reduce them (flattened, divided)"),
    field("bucket_buffers", &Stack::DataParallel::bucket_buffers, Flag{},
          "without ZeRO and with replicas: gradients are copied to buckets that stay, and reduced beside the "
          "backward whatever `overlap` says (torch DDP)"),
    field("gather_copies", &Stack::DataParallel::gather_copies, WholeNumber{0, 2},
          "copies of all weights while ZeRO 1 puts them together: the first in one block, the second in a "
          "block for each shard"),
    field("gathered_units", &Stack::DataParallel::gathered_units, WholeNumber{1, kMaxCopies},
          "blocks whose weights are there at once under ZeRO 3, where it prefetches"),
    field("reduce_buffers", &Stack::DataParallel::reduce_buffers, WholeNumber{1, kMaxCopies},
          "gradients of blocks that wait to be reduced at once, in the format for it"),
};

inline constexpr auto kExpertFields = std::tuple{
    field("dispatcher", &Stack::Experts::dispatcher, OneOf{kDispatcherNames}, "where the plan is silent"),
    field("syncs", &Stack::Experts::syncs, Flag{},
          "the host waits, in every forward of a layer with experts, for how many rows each gets"),
    field("permute_fusion", &Stack::Experts::permute_fusion, Flag{},
          "rows are moved to their experts and back by one kernel each; decides `when: permute_fused` and "
          "`permute_eager`"),
    field("router_fusion", &Stack::Experts::router_fusion, Flag{},
          "the router chooses and weighs by a few kernels; decides `when: router_fused` and `router_eager`"),
    field("overlap_shared", &Stack::Experts::overlap_shared, Flag{},
          "shared experts work while tokens travel"),
};

inline constexpr auto kLossFields = std::tuple{
    field("kind", &Stack::Loss::kind, OneOf{kLossNames}, "where the plan is silent"),
    field("offers_chunked", &Stack::Loss::offers_chunked, Flag{}, "a plan may ask for `loss=chunked`"),
    field("offers_fused", &Stack::Loss::offers_fused, Flag{}, "a plan may ask for `loss=fused`"),
    field("chunks", &Stack::Loss::chunks, WholeNumber{1, 65'536}, "pieces of `chunked`"),
    field("keeps_logits", &Stack::Loss::keeps_logits, Flag{},
          "`chunked` keeps all logits, in the plan's precision, until the backward; only their fp32 copy is "
          "there by piece"),
    field("fusion", &Stack::Loss::fusion, Flag{},
          "a few kernels on logits as they are; decides `when: loss_fused` and `loss_eager`"),
};

inline constexpr auto kAdapterFields = std::tuple{
    field("dtype", &Stack::Adapters::dtype, GradientFormat{},
          "of adapters and their gradients, where the plan is silent"),
    field("autocast", &Stack::Adapters::autocast, Flag{},
          "products of fp32 adapters run in the plan's precision all the same"),
    field("fused", &Stack::Adapters::fused, Flag{},
          "one adapter beside a product that makes several (queries, keys and values; gate and up)"),
    field("double_quant", &Stack::Adapters::double_quant, Flag{},
          "scales of nf4 are quantised too, where the plan is silent"),
    field("loads_whole", &Stack::Adapters::loads_whole, Flag{},
          "whole weights lie on every GPU while they are loaded, though ZeRO 3 divides them afterwards"),
    field(
        "narrow_base", &Stack::Adapters::narrow_base, Flag{},
        "frozen weights whose products run in fewer bits are kept in these alone, and transposed where they "
        "are used"),
    field("calls", &Stack::Adapters::calls, WholeNumber{0, kMaxLaunches},
          "framework calls of each adapter that launch nothing"),
};

inline constexpr auto kCudaGraphFields = std::tuple{
    field("offers", &Stack::CudaGraphs::offers, ListOf{kGraphModuleNames},
          "what it can capture as CUDA graphs; none: plans that ask for them are refused", "empty"),
    field("scope", &Stack::CudaGraphs::scope, ListOf{kGraphModuleNames}, "where the plan is silent", "empty"),
    field(
        "copies_inputs", &Stack::CudaGraphs::copies_inputs, Flag{},
        "what a graph of a part of a layer reads is copied into a buffer of its own before each launch; one "
        "for each micro-batch in flight"),
    field("optimizer", &Stack::CudaGraphs::optimizer, Flag{},
          "of `full`: the optimizer's step is captured too; data are loaded outside in any case"),
};

inline constexpr auto kMemoryLogFields = std::tuple{
    field("counter", &Stack::MemoryLog::counter, OneOf{kMemoryCounterNames},
          "which counter the framework's log shows, for measured rows that do not say"),
    field("stage", &Stack::MemoryLog::stage, OneOf{kLoggedStageNames}, "and of which stage"),
};

inline constexpr auto kHostFields = std::tuple{
    field("syncs_per_layer", &Stack::Host::syncs_per_layer, WholeNumber{0, 1'000},
          "points of each block, in each direction, at which the host waits for the GPU; evenly spread, the "
          "last at its end"),
    field("calls_per_layer", &Stack::Host::calls_per_layer, WholeNumber{0, kMaxLaunches},
          "framework calls of a block that launch nothing; each takes the host as long as a launch"),
    field("calls_of_experts", &Stack::Host::calls_of_experts, WholeNumber{0, kMaxLaunches},
          "likewise, on top where the block has experts"),
    field("calls_per_expert", &Stack::Host::calls_per_expert, WholeNumber{0, kMaxLaunches},
          "likewise, on top for each expert of a loop over them"),
    field("calls_of_latent", &Stack::Host::calls_of_latent, WholeNumber{0, kMaxLaunches},
          "likewise, on top where its attention is latent"),
    field("calls_per_recompute", &Stack::Host::calls_per_recompute, WholeNumber{0, kMaxLaunches},
          "likewise, on top of the forward that is run again"),
    field("calls_per_unit", &Stack::Host::calls_per_unit, WholeNumber{0, kMaxLaunches},
          "likewise, around each gather or scatter of ZeRO 2 and 3"),
    field("calls_per_shard", &Stack::Host::calls_per_shard, WholeNumber{0, kMaxLaunches},
          "likewise, of each tensor, rank or pair of them by which shards become whole (`shard_exchange`)"),
    field("calls_per_pass", &Stack::Host::calls_per_pass, WholeNumber{0, kMaxLaunches},
          "likewise, before each forward or backward of a chunk"),
    field("sync_after_pass", &Stack::Host::sync_after_pass, Flag{},
          "after each pass a timer waits for the GPU, which uses up the host's lead"),
    field("calls_per_batch", &Stack::Host::calls_per_batch, WholeNumber{0, kMaxLaunches},
          "data loading: calls before the forward of each micro-batch, on the first and the last stage"),
    field("copies_per_batch", &Stack::Host::copies_per_batch, WholeNumber{0, kMaxLaunches},
          "copies of the micro-batch to the GPU there, for each of which the host waits"),
    field("calls_per_step", &Stack::Host::calls_per_step, WholeNumber{0, kMaxLaunches},
          "logging: calls of each step, before the update"),
};

inline constexpr auto kLowPrecisionFields = std::tuple{
    field("impl", &Stack::LowPrecision::impl, OneOf{kImplNames}, "implementation of casts"),
    field("weight_cache", &Stack::LowPrecision::weight_cache, Flag{},
          "weights are cast once a step and the copies kept; otherwise in every forward, and again where the "
          "backward needs the other copy"),
    field(
        "saves_copy", &Stack::LowPrecision::saves_copy, Flag{},
        "of a product's input the copy for its weights' gradient is kept; otherwise the input itself, which "
        "the backward casts again"),
    field("norm_casts", &Stack::LowPrecision::norm_casts, Flag{},
          "a norm writes its output in the format of the product after it, where the scale is known "
          "beforehand (`scaling: delayed`): no cast, but a transpose where two copies are needed"),
    field("offers_activation_store", &Stack::LowPrecision::offers_activation_store, Flag{},
          "a plan may ask for `fp8_activation_store`"),
};

inline constexpr auto kStackSections = std::tuple{
    StackSection{"gradients", &Stack::gradients, kGradientFields},
    StackSection{"states", &Stack::states, kStateFields},
    StackSection{"recompute", &Stack::recompute, kRecomputationFields},
    StackSection{"tensor_parallel", &Stack::tensor_parallel, kTensorParallelFields},
    StackSection{"context_parallel", &Stack::context_parallel, kContextParallelFields},
    StackSection{"pipeline", &Stack::pipeline, kPipelineFields},
    StackSection{"data_parallel", &Stack::data_parallel, kDataParallelFields},
    StackSection{"experts", &Stack::experts, kExpertFields},
    StackSection{"loss", &Stack::loss, kLossFields},
    StackSection{"adapters", &Stack::adapters, kAdapterFields},
    StackSection{"cuda_graphs", &Stack::cuda_graphs, kCudaGraphFields},
    StackSection{"low_precision", &Stack::low_precision, kLowPrecisionFields},
    StackSection{"memory_log", &Stack::memory_log, kMemoryLogFields},
    StackSection{"host", &Stack::host, kHostFields},
};

}  // namespace foretrain
