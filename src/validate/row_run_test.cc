#include "validate/row_run.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "spec/catalog.h"
#include "validate/example_table.h"

using namespace foretrain;

namespace {

std::variant<RowRun, Skip> outcome_of(const Cells& replaced) {
  return RowRunner(Catalog()).run_of(example_row(replaced)).value();
}

// The reason for which the row is left out; empty where it is not.
std::string skip_of(const Cells& replaced) {
  const auto outcome = outcome_of(replaced);
  const auto* skip = std::get_if<Skip>(&outcome);
  return skip != nullptr ? skip->reason : "";
}

RowRun row_run_of(const Cells& replaced) {
  INFO(skip_of(replaced));
  return std::get<RowRun>(outcome_of(replaced));
}
Run run_of(const Cells& replaced) { return row_run_of(replaced).run; }

bool assumes(const Run& run, std::string_view item) {
  return std::find(run.assumed.begin(), run.assumed.end(), item) != run.assumed.end();
}

}  // namespace

TEST_CASE("the columns become a checked run") {
  const Run run = run_of({});
  CHECK(run.cluster.name == "selene");
  CHECK(run.stack.name == "generic");
  CHECK(run.gpus == 16);
  CHECK(run.seq == 1024);
  CHECK(run.micro_batches() == 4);
  CHECK(run.model.layers() == 8);
  CHECK(run.model.max_positions == 1024);
  CHECK(run.model.biases);
  CHECK(run.model.norm_bias);
  CHECK(run.plan.tp == 2);
  CHECK(run.plan.dp == 4);
  CHECK(run.plan.attention == AttentionKind::kFlash);
  CHECK_FALSE(run.plan.overlap_grad_reduce);
  // 12 H^2 + 13 H a layer, the final norm, the tied table and the positions, with H = 1024.
  CHECK(parameters(run.model) == 8 * (12 * 1024 * 1024 + 13 * 1024) + 2 * 1024 + (32000 + 1024) * 1024);
}

TEST_CASE("what the notes say goes into model and plan") {
  const Run run =
      run_of({{"notes",
               "biases=0; qkv_bias=1; rotary_fraction=0.25; residual=parallel; layers_per_stage=5-3; "
               "partition_activations=1; grad_accum_dtype=fp32; grad_reduce_dtype=bf16; "
               "comm_overlap=0"},
              {"positions", "rope"}});
  CHECK_FALSE(run.model.biases);
  CHECK(run.model.qkv_bias);
  CHECK(run.model.rotary_fraction == 0.25);
  CHECK(run.model.residual == Residual::kParallel);
  CHECK(run.plan.layers_per_stage == std::vector<std::int64_t>{5, 3});
  CHECK(run.plan.partition_activations == true);
  CHECK(run.plan.grad_dtype == Dtype::kFp32);
  CHECK(run.plan.reduce_dtype == Dtype::kBf16);
  // What FSDP reduces in, in Composer's words; a stated format comes first.
  const auto reduced = [](const char* notes) { return run_of({{"notes", notes}}).plan.reduce_dtype; };
  CHECK(reduced("fsdp=1; MP Mode DEFAULT; x") == Dtype::kFp32);
  CHECK(reduced("MP Mode PURE") == Dtype::kBf16);
  CHECK(reduced("MP Mode DEFAULT; grad_reduce_dtype=bf16") == Dtype::kBf16);
  CHECK(reduced("no MP Mode DEFAULT") == std::nullopt);
  CHECK(run.plan.overlap_grad_reduce == false);
}

TEST_CASE("what nobody says is filled in and listed") {
  const Run gpt = run_of({{"kv_heads", ""}, {"head_dim", ""}, {"notes", ""}, {"vpp", ""}});
  CHECK(gpt.model.blocks[0].block.attention.kv_heads == 16);
  CHECK(gpt.model.blocks[0].block.attention.head_dim == 64);
  CHECK(gpt.model.biases);
  CHECK_FALSE(gpt.model.dropout);
  CHECK(gpt.assumed == std::vector<std::string>{"kv_heads=16", "biases=1", "dropout of the stack", "vpp=1"});

  const Run llama =
      run_of({{"norm", "rmsnorm"}, {"positions", "rope"}, {"ffn_type", "swiglu"}, {"notes", ""}});
  CHECK_FALSE(llama.model.biases);
  CHECK(llama.model.dropout == 0.0);
  CHECK(llama.assumed == std::vector<std::string>{"biases=0", "dropout=0"});
}

TEST_CASE("open choices are marked, and left at their defaults") {
  const RowRun open = row_run_of({{"recompute", ""}, {"zero", ""}});
  CHECK(open.recompute_open);
  CHECK(open.zero_open);
  CHECK(open.run.plan.recompute == Recompute::kNone);
  CHECK(open.run.plan.zero == 0);
  const RowRun stated = row_run_of({{"recompute", "full"}, {"zero", "1"}});
  CHECK_FALSE(stated.recompute_open);
  CHECK_FALSE(stated.zero_open);
  CHECK(stated.run.plan.recompute == Recompute::kFull);
  CHECK(stated.run.plan.zero == 1);
}

TEST_CASE("sequence parallelism needs tensor parallelism") {
  CHECK(run_of({{"sp", "1"}}).plan.sp);
  CHECK_FALSE(run_of({{"sp", "1"}, {"tp", "1"}, {"dp", "8"}}).plan.sp);
}

TEST_CASE("a stack we have no preset for is taken as generic, and that is said") {
  const Run run = run_of({{"stack", "somebodys"}});
  CHECK(run.stack.name == "generic");
  CHECK(assumes(run, "stack somebodys as generic"));
}

TEST_CASE("a run whose blocks were compiled has the stack that is so") {
  const auto titan = [](const char* notes) {
    return run_of({{"stack", "torchtitan"}, {"sp", "1"}, {"zero", "3"}, {"notes", notes}}).stack.name;
  };
  CHECK(titan("FSDP2; torch.compile") == "torchtitan-compile");
  CHECK(titan("FSDP2") == "torchtitan");
  CHECK(run_of({{"stack", "megatron"}, {"notes", "torch.compile"}}).stack.name == "megatron");
}

TEST_CASE("a stack that is built on another is taken as that one, and that is said") {
  const Run run = run_of({{"stack", "megatron-core"}});
  CHECK(run.stack.name == "megatron");
  CHECK(assumes(run, "stack megatron-core as megatron"));
  CHECK_FALSE(assumes(run_of({{"stack", "megatron"}}), "stack megatron as megatron"));
}

TEST_CASE("the row's own GPU and node size replace the cluster's") {
  const Run run = run_of({{"gpu", "h100-80gb-sxm"}, {"gpus_per_node", "4"}});
  CHECK(run.cluster.gpu.name == "h100-80gb-sxm");
  CHECK(run.cluster.gpus_per_node == 4);
  CHECK(run.cluster.nvlink_domain == 4);
}

TEST_CASE("a node of half the GPUs has half the NICs, and at least one") {
  const Cluster whole = run_of({}).cluster;
  const auto with = [](std::int64_t gpus) {
    return run_of({{"gpus_per_node", std::to_string(gpus)}}).cluster;
  };
  CHECK(with(whole.gpus_per_node) == whole);
  const Cluster half = with(whole.gpus_per_node / 2);
  CHECK(half.inter.bandwidth * 2 == whole.inter.bandwidth);
  CHECK(half.nics == std::max<std::int64_t>(1, whole.nics / 2));
  CHECK(with(1).nics >= 1);
}

TEST_CASE("what is not modelled is left out under its name") {
  CHECK(skip_of({{"offload", "activations:moe_act"}}) == "offload activations:moe_act");
  CHECK(skip_of({{"offload", "none"}}) == "");
  // What its framework is not known to launch was launched: that is told.
  CHECK(skip_of({{"stack", "hf-eager"}}) == "");
  const Run launched = run_of({{"stack", "hf-eager"}, {"zero", "1"}, {"recompute", "none"}});
  CHECK(std::any_of(launched.assumed.begin(), launched.assumed.end(), [](const std::string& line) {
    return line.find("accelerate trains without pipeline parallelism") != std::string::npos;
  }));
  CHECK_FALSE(launched.stack.rules.empty());
  // A stack that captures nothing.
  CHECK(skip_of({{"stack", "neox"}, {"cuda_graph", "none"}}) == "");
  CHECK(skip_of({{"stack", "neox"}, {"cuda_graph", "layer"}}).find("cuda_graph") != std::string::npos);
  CHECK(skip_of({{"offload", "activations"}}) == "");
}

TEST_CASE("a row of adapters is not answered as another training") {
  CHECK(skip_of({{"peft", "dora"}}) == "peft dora");
  CHECK(skip_of({{"peft", "lora"}, {"lora_rank", "16"}}) == "");
  CHECK(skip_of({{"peft", "none"}}) == "");
}

TEST_CASE("of several reasons the first counts: peft, offload") {
  Cells cells = {{"peft", "dora"}, {"offload", "states"}};
  const Cells plain = {{"peft", ""}, {"offload", "none"}};
  const std::string reasons[] = {"peft dora", "offload states", ""};
  for (std::size_t i = 0; i < plain.size(); ++i) {
    CHECK(skip_of(cells) == reasons[i]);
    cells[i] = plain[i];
  }
  CHECK(skip_of(cells).empty());
}

TEST_CASE("a row that says too little is left out") {
  CHECK(skip_of({{"cluster", "nowhere"}}) == "unknown cluster nowhere");
  CHECK(skip_of({{"cluster", "presets/clusters/selene.yaml"}}) ==
        "unknown cluster presets/clusters/selene.yaml");
  CHECK(skip_of({{"gpu", "abacus"}}) == "unknown gpu abacus");
  CHECK(skip_of({{"ffn", ""}}) == "unknown ffn");
  CHECK(skip_of({{"tp", ""}}) == "unknown tp");
  CHECK(skip_of({{"step_s", ""}}) == "no step_s");
}

TEST_CASE("a failure counts unless its notes say that it tells nothing") {
  const Cells failed = {{"step_s", ""}, {"notes", "failure=oom-or-crash"}};
  CHECK(skip_of(failed).empty());
  CHECK(skip_of({{"step_s", ""}, {"notes", "failure=oom; also_succeeded=1"}}) == "also_succeeded");
  CHECK(skip_of({{"step_s", ""}, {"notes", "failure=oom; pp_exceeds_layers=1"}}) == "pp_exceeds_layers");
}

TEST_CASE("a row that contradicts itself is refused, not guessed right") {
  CHECK(skip_of({{"dp", "2"}}).starts_with("refused: dp 2 is stated"));
  CHECK(skip_of({{"kv_heads", "5"}}).starts_with("refused: kv_heads 5 does not divide heads 16"));
  CHECK(skip_of({{"notes", "layers_per_stage=5-4"}}).starts_with("refused: layers_per_stage sums to 9"));
  CHECK(skip_of({{"notes", "residual=both"}}).starts_with("refused: residual: unknown word"));
}
