#include "validate/row_run.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "spec/catalog.h"
#include "validate/example_table.h"
#include "validate/row_spec.h"

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

TEST_CASE("a family that stores or activates otherwise than its kin is known by name") {
  const auto model = [](const char* notes, const char* positions) {
    return run_of({{"notes", notes}, {"positions", positions}}).model;
  };
  CHECK(model("biases=1; family=gpt2", "learned").gelu == Gelu::kTanh);
  CHECK(model("biases=1; family=gpt_neox", "rope").gelu == Gelu::kErf);
  CHECK(model("biases=1; family=gpt_neox", "rope").fused_qkv);
  CHECK(model("biases=1; family=phi", "rope").gelu == Gelu::kTanh);
  CHECK_FALSE(model("biases=1; family=phi", "rope").fused_qkv);
}

TEST_CASE("norms of queries and keys are noted, or known of a family") {
  CHECK(run_of({{"notes", "qk_layernorm=1"}}).model.blocks[0].block.attention.qk_norm == QkNorm::kHead);
  CHECK(run_of({{"notes", "family=qwen3"}}).model.blocks[0].block.attention.qk_norm == QkNorm::kHead);
  CHECK(run_of({{"notes", "family=qwen2"}}).model.blocks[0].block.attention.qk_norm == QkNorm::kNone);
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
  CHECK(skip_of({{"experts", "8"}}) == "moe");
  CHECK(skip_of({{"notes", "mla=1"}}) == "mla");
  CHECK(skip_of({{"precision", "fp8"}}) == "precision fp8");
  CHECK(skip_of({{"precision", "mxfp8"}}) == "precision mxfp8");
  CHECK(skip_of({{"precision", "nvfp4"}}) == "precision nvfp4");
  CHECK(skip_of({{"cp", "2"}, {"dp", "2"}}) == "cp > 1");
  CHECK(skip_of({{"ep", "2"}}) == "ep > 1");
}

TEST_CASE("a row of adapters or windows is not answered as another training") {
  // A table with the columns that say so, after those that all tables have.
  std::string text = example_table({{}, {}, {}});
  const auto end_line = [&](std::size_t line, const char* more) {
    std::size_t end = 0;
    for (std::size_t i = 0; i <= line; ++i) end = text.find('\n', end + 1);
    text.insert(end, more);
  };
  end_line(0, ",peft,sliding_window");
  end_line(1, ",lora,");
  end_line(2, ",none,128:alternate");
  end_line(3, ",none,");
  const auto rows = CsvTable::parse(text, "runs.csv").and_then(measured_rows).value();
  const auto reason = [&](std::size_t row) {
    const auto outcome = RowRunner(Catalog()).run_of(rows.at(row)).value();
    const auto* skip = std::get_if<Skip>(&outcome);
    return skip != nullptr ? skip->reason : "";
  };
  CHECK(reason(0) == "peft lora");
  CHECK(reason(1) == "sliding_window");
  CHECK(reason(2) == "");
}

TEST_CASE("of several reasons the first counts: moe, mla, precision, cp, ep") {
  Cells cells = {{"experts", "8"}, {"notes", "mla=1"}, {"precision", "fp8"}, {"cp", "2"}, {"ep", "2"}};
  const Cells plain = {{"experts", "0"}, {"notes", ""}, {"precision", "bf16"}, {"cp", "1"}, {"ep", "1"}};
  const std::string reasons[] = {"moe", "mla", "precision fp8", "cp > 1", "ep > 1", ""};
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
