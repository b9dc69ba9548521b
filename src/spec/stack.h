// A stack: what a training framework launches, saves and waits for. It holds counts and choices, never
// seconds; the seconds come from a GPU and a cluster.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/dtype.h"
#include "spec/launch_rule.h"
#include "spec/model.h"
#include "spec/part.h"
#include "spec/plan.h"
#include "spec/recipe.h"

namespace foretrain {

enum class StageSplit : unsigned char { kEven, kCost, kPipelineLayers };
inline constexpr std::array<std::string_view, 3> kStageSplitNames = {"even", "cost", "pipeline_layers"};

// When the gather of the next unit's weights starts (ZeRO 3): with the work of the unit before it (torch
// FSDP's BACKWARD_PRE), after that work but before its gradients are reduced (BACKWARD_POST), or when the
// unit itself begins.
enum class Prefetch : unsigned char { kNone, kAfter, kBefore };
inline constexpr std::array<std::string_view, 3> kPrefetchNames = {"none", "after", "before"};
// When the weights that ZeRO 2 updates in shards are put together: once a step after the update, or in every
// forward, to be dropped after the backward (torch FSDP's SHARD_GRAD_OP).
enum class Zero2Gather : unsigned char { kStep, kForward };
inline constexpr std::array<std::string_view, 2> kZero2GatherNames = {"step", "forward"};

// How shards become whole again: after the update under ZeRO 1 and 2, in passes under ZeRO 3. By one gather; one a
// tensor; a broadcast a rank; one gather and a copy for each tensor and rank; one gather a tensor that the host waits for.
enum class ShardExchange : unsigned char { kFlat, kTensor, kRank, kTensorAndRank, kSynchronised };
inline constexpr std::array<std::string_view, 5> kShardExchangeNames = {"flat", "tensor", "rank",
                                                                        "tensor_and_rank", "synchronised"};

// Three counters that people read: bytes in tensors (torch's allocated), in the caching allocator's segments
// (torch's reserved), on the device (nvidia-smi: with context and communication buffers).
enum class MemoryCounter : unsigned char { kAllocated, kReserved, kNvidiaSmi };
inline constexpr std::array<std::string_view, 3> kMemoryCounterNames = {"allocated", "reserved",
                                                                        "nvidia-smi"};

enum class LoggedStage : unsigned char { kWorst, kFirst };
inline constexpr std::array<std::string_view, 2> kLoggedStageNames = {"worst", "first"};

// What a stack's counts rest on: measured steps or traces of the framework, its sources and papers, or what such
// frameworks usually do.
enum class Described : unsigned char { kMeasured, kDocumented, kAssumed };
inline constexpr std::array<std::string_view, 3> kDescribedNames = {"measured", "documented", "assumed"};

// Ways of context parallelism that a framework has.
struct CpTypes {
  std::uint8_t bits = 0;

  constexpr bool has(CpType type) const { return (bits >> static_cast<int>(type) & 1) != 0; }
  constexpr void add(CpType type) { bits = static_cast<std::uint8_t>(bits | 1 << static_cast<int>(type)); }
  constexpr bool empty() const { return bits == 0; }
  bool operator==(const CpTypes&) const = default;
};

// Sections and members are named as in a stack's file.
struct Stack {
  std::string name;
  std::string source;
  Described described = Described::kAssumed;

  // Parts, by what the model is made of.
  struct Parts {
    Part embedding;
    std::array<Part, 2> norm;  // by Norm
    Part qkv;
    Part rope;
    std::array<Part, 2> attention;  // by AttentionKind
    Part projection;
    std::array<Part, 4> mlp;  // by MlpKind
    // Latent attention, in place of qkv and rope: before and after the latents.
    Part latent_down;
    Part latent_up;
    // Experts: from the input to weights and order; rows to their places; the experts, by MlpKind; rows back.
    // What joins shared experts, whose MLP is as any other.
    // Around the exchange of tokens, which lies between dispatch and arrive, and between depart and combine;
    // each by Dispatcher.
    Part router;
    std::array<Part, kDispatcherCount> dispatch;
    std::array<Part, kDispatcherCount> arrive;
    std::array<Part, 4> experts;
    std::array<Part, kDispatcherCount> depart;
    std::array<Part, kDispatcherCount> combine;
    std::array<Part, 4> experts_loop;  // one by one, in place of all from dispatch to combine
    Part shared;
    std::array<Part, 2> residual;  // by Residual: after each half block, or once a block
    Part mtp;  // what joins the residual stream and a later token's embedding, in multi-token prediction
    Part head;
    Part loss;
    Part optimizer;
    // Fine-tuning: what stands beside a frozen product, and what runs before one whose weights are quantised.
    Part adapter;
    Part dequantise;

    bool operator==(const Parts&) const = default;
  };
  Parts parts;

  // Defaults where model or plan leave a choice open; so are the formats of gradients.
  AttentionKind default_attention = AttentionKind::kFlash;
  double default_dropout = 0.0;

  struct Gradients {
    Dtype dtype = Dtype::kFp32;
    Dtype reduce_dtype = Dtype::kFp32;
    bool fp16_stays = false;         // fp16 runs keep and reduce them in fp16
    bool fused_accumulation = true;  // the product adds into the accumulated gradient itself
    // Autograd's own gradients, in the format of the passes, live until a backward ends; then they are added
    // to the accumulated ones.
    bool autograd_copies = false;

    bool operator==(const Gradients&) const = default;
  };
  Gradients gradients;

  struct States {
    bool master_weights = true;  // an fp32 copy of half precision weights
    Dtype moments = Dtype::kFp32;
    bool lazy_gradients = false;  // freed after each step, made again by its first backward
    bool fp32_weights = false;    // weights are kept in fp32, which is the master copy, and cast for use
    // Tensors that products work in, kept for the whole run (memory/workspaces.h).
    std::int64_t torch_workspaces = 0;    // of torch's own products: one a thread that multiplies
    std::int64_t engine_workspaces = 0;   // of Transformer Engine's
    std::int64_t grouped_workspaces = 0;  // and one a stream of its grouped products

    bool operator==(const States&) const = default;
  };
  States states;

  struct Recomputation {
    // Full recomputation ends when the last tensor that the backward needs is there: what follows, and a
    // product that ends the block, are not run again (torch.utils.checkpoint without reentry, early_stop).
    bool stops_early = false;

    bool operator==(const Recomputation&) const = default;
  };
  Recomputation recompute;

  struct TensorParallel {
    bool blocking = true;  // compute waits for its collectives
    // Under sp, products run beside the collectives of their inputs and outputs.
    bool overlap = false;
    // Of a block with parallel residual: forward, and backward without sp (with it each half gathers its
    // own).
    std::array<std::int64_t, 2> parallel_all_reduces = {1, 2};
    bool sp_copies =
        false;  // under sp, what is gathered or scattered is copied, since sequences are no outermost dimension
    bool sp_gather_again = false;  // the backward gathers the saved shard of a column-parallel input again
    std::int64_t sp_buffers = 1;   // whole activations in which shards are gathered, kept from pass to pass
    std::int64_t vocab_multiple = 1;  // the vocabulary is padded to this many times tp

    bool operator==(const TensorParallel&) const = default;
  };
  TensorParallel tensor_parallel;

  struct ContextParallel {
    CpTypes types;               // none: it has no context parallelism
    CpType type = CpType::kP2p;  // where the plan is silent
    // An all-to-all among more ranks than there are heads of keys and values copies these; else it is refused.
    bool copies_kv = false;
    bool repeats_kv = false;    // keys and values travel once for each query head
    bool latent_by_a2a = true;  // latent attention goes with a2a and allgather too

    bool operator==(const ContextParallel&) const = default;
  };
  ContextParallel context_parallel;

  struct Pipeline {
    StageSplit split = StageSplit::kEven;
    bool blocking = true;         // sends stop compute; what comes in meanwhile costs nothing more
    bool serial = false;          // and receives do, one after the other with the sends
    bool sends_mask = false;      // the attention mask travels with the activations
    bool scatter_gather = false;  // each tp rank sends its share, then the group gathers

    bool operator==(const Pipeline&) const = default;
  };
  Pipeline pipeline;

  struct DataParallel {
    bool overlap = false;               // gradients are reduced beside the last backward
    std::int64_t bucket_elements = 0;   // 0: one bucket
    bool zero_reduce_scatter = true;    // ZeRO 1 reduces to its shard only; otherwise all-reduce
    bool overlap_param_gather = false;  // ZeRO 1 and 2: updated weights are gathered beside the next forward
    std::array<Prefetch, 2> prefetch = {Prefetch::kBefore, Prefetch::kBefore};  // forward, backward
    bool reshard_after_forward = true;  // ZeRO 3 gathers a block's weights again for its backward
    Zero2Gather zero2_gather = Zero2Gather::kStep;
    ShardExchange shard_exchange = ShardExchange::kFlat;
    // Copies of a unit's whole gradients before a scatter: flattened, divided.
    std::int64_t gradient_copies = 0;
    // ZeRO 0: gradients are copied to buckets that stay, to be reduced there.
    bool bucket_buffers = false;
    // Copies of all weights while ZeRO 1 puts them together after the update: one in a single block, a second
    // in a block for each shard.
    std::int64_t gather_copies = 0;
    // Blocks whose weights are there at once under ZeRO 3, where it prefetches.
    std::int64_t gathered_units = 2;
    // Gradients of blocks that wait to be reduced at once, in the format for it.
    std::int64_t reduce_buffers = 1;

    bool operator==(const DataParallel&) const = default;
  };
  DataParallel data_parallel;

  struct Experts {
    Dispatcher dispatcher = Dispatcher::kAllToAll;
    bool syncs = true;  // the host waits for the router's counts, in every forward of a layer with experts
    bool permute_fusion = true;   // rows are moved by one kernel each way
    bool router_fusion = false;   // the router chooses and weighs by a few kernels
    bool overlap_shared = false;  // shared experts work while tokens travel

    bool operator==(const Experts&) const = default;
  };
  Experts experts;

  // How the head and the loss are worked off, and what else the framework offers.
  struct Loss {
    LossKind kind = LossKind::kWhole;
    bool offers_chunked = false;
    bool offers_fused = false;
    std::int64_t chunks = 8;
    // In pieces, but the logits of all stay until the backward: only what is made of them is there by piece.
    bool keeps_logits = false;
    bool fusion = false;  // by a few kernels, where its part tells that from a chain

    bool operator==(const Loss&) const = default;
  };
  Loss loss;
  // Of fine-tuning (plan's lora).
  struct Adapters {
    Dtype dtype = Dtype::kBf16;  // adapters are kept, and their gradients made, in it
    bool autocast = false;       // their products run in the plan's precision whatever that is
    bool fused = false;  // one beside a product that makes several (queries, keys and values; gate and up)
    bool double_quant = true;  // scales of nf4 are quantised too
    // Whole weights lie on every GPU while they are loaded, whatever ZeRO 3 makes of them.
    bool loads_whole = false;
    // Frozen weights whose products run in fewer bits are kept in these alone, and transposed where they are used.
    bool narrow_base = false;
    std::array<std::int64_t, 2> calls = {0, 0};  // of the framework, of each adapter, that launch nothing

    bool operator==(const Adapters&) const = default;
  };
  Adapters adapters;

  // CUDA graphs: see spec/cuda_graph.h.
  struct CudaGraphs {
    GraphModules offers;  // what it can capture; none: it has no graphs
    GraphModules scope;   // where the plan is silent
    // What a graph of a part of a layer reads is copied into a buffer of its own before each launch.
    bool copies_inputs = true;
    bool optimizer = false;  // of `full`: the update is captured too

    bool operator==(const CudaGraphs&) const = default;
  };
  CudaGraphs cuda_graphs;
  // Products in fewer bits than the passes: what the framework does around them (recipe.h).
  struct LowPrecision {
    Impl impl = Impl::kFused;  // of casts
    // Blocks' weights are cast once a step, and the copies kept; otherwise in every forward, and again where the
    // backward needs the other copy.
    bool weight_cache = true;
    // Of a product's input the copy that its weights' gradient takes is kept; otherwise the input itself, which is
    // cast again in the backward.
    bool saves_copy = true;
    // A norm writes what the product after it reads in that product's format, where its scale is known beforehand.
    bool norm_casts = false;
    // A plan may have what a gated activation read kept in fp8.
    bool offers_activation_store = false;

    bool operator==(const LowPrecision&) const = default;
  };
  LowPrecision low_precision;
  // What it can run; of several of one family, the first is what a plan means by the family's word.
  std::vector<Recipe> recipes = {half_recipe(Dtype::kBf16), half_recipe(Dtype::kFp16)};

  // What it refuses to launch; none: whatever can be stated.
  std::vector<LaunchRule> rules;

  // What the framework's own log says of memory, for runs that do not name a counter: which, and whose.
  struct MemoryLog {
    MemoryCounter counter = MemoryCounter::kReserved;
    LoggedStage stage = LoggedStage::kWorst;

    bool operator==(const MemoryLog&) const = default;
  };
  MemoryLog memory_log;

  struct Host {
    // Points of a block, in each direction, where the host waits for the GPU.
    std::int64_t syncs_per_layer = 0;
    // Calls into the framework that launch nothing (views, hooks, bookkeeping), a block; each takes the host
    // as long as a launch.
    std::array<std::int64_t, 2> calls_per_layer = {0, 0};   // forward, backward
    std::array<std::int64_t, 2> calls_of_experts = {0, 0};  // on top, of a block with experts
    std::array<std::int64_t, 2> calls_per_expert = {0, 0};  // and for each of these in a loop
    std::array<std::int64_t, 2> calls_of_latent = {0, 0};   // and with latent attention
    std::int64_t calls_per_recompute = 0;                   // on top of the forward that is run again
    std::int64_t calls_per_unit = 0;   // likewise around each gather or scatter of a block under ZeRO 2 and 3
    std::int64_t calls_per_shard = 0;  // likewise of each piece by which shards become whole
    std::array<std::int64_t, 2> calls_per_pass = {0, 0};  // likewise before a forward or backward begins
    bool sync_after_pass = false;                         // a timer waits for the GPU
    // On the first and the last stage, before the forward of each micro-batch: loading it, and copies to the
    // GPU for which the host waits.
    std::int64_t calls_per_batch = 0;
    std::int64_t copies_per_batch = 0;
    std::int64_t calls_per_step = 0;  // likewise before the update: the loss is read and logged

    bool operator==(const Host&) const = default;
  };
  Host host;

  bool operator==(const Stack&) const = default;
};

// Whether the stack says what it launches around that exchange of tokens.
bool has_dispatcher(const Stack& stack, Dispatcher dispatcher);

// Whether the stack says what it launches on that condition.
bool has_condition(const Stack& stack, Condition when);

// Whether any operator of the stack drops out, where a model asks for it.
bool has_dropout(const Stack& stack);

}  // namespace foretrain
