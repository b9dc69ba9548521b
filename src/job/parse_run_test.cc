#include "job/parse_run.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "job/run_check.h"
#include "spec/catalog.h"
#include "spec/plan_text.h"
#include "spec/testing.h"

using namespace foretrain;

namespace {

// A stack for models of layernorm, gelu and rope only.
const std::string kStack =
    "stack:\n  name: small\n  parts:\n"
    "    embedding: [{op: embedding}]\n"
    "    norm: {layernorm: [{op: layernorm}]}\n"
    "    qkv: [{op: linear, in: hidden, out: qkv}]\n"
    "    rope: [{op: rope, width: qk}]\n"
    "    attention: {flash: [{op: attention, impl: flash, in: qkv, out: q}]}\n"
    "    projection: [{op: linear, in: q, out: hidden}]\n"
    "    mlp: {gelu: [{op: linear, in: hidden, out: ffn}]}\n"
    "    residual: {sequential: [{op: add}]}\n"
    "    head: [{op: linear, in: hidden, out: vocab}]\n"
    "    loss: [{op: cross_entropy, width: vocab}]\n"
    "    optimizer: [{op: adamw}]\n";
const std::string kModel =
    "model: {hidden: 6144, layers: 44, heads: 64, kv_heads: 8, ffn: 24576, mlp: gelu, norm: layernorm, "
    "positions: rope, vocab: 50432, tied: false, seq: 2048}\n";
const std::string kCluster =
    "cluster:\n"
    "  gpu: {rates_tflops: {bf16: 312}, hbm_gbytes: 2039, memory_mib: 81920, usable_mib: 81000, l2_mib: 40, "
    "sms: 108, clock_mhz: {base: 1095, max: 1410}, power_cap_w: 400}\n"
    "  gpus_per_node: 4\n"
    "  intra: {gbytes: 300, latency_us: 2}\n"
    "  inter: {gbps: 800, latency_us: 6}\n"
    "  host_launch_us: 6\n";
const std::string kRest = "gpus: 128\nglobal_batch: 1024\n";
const std::string kSpecs = kModel + kCluster + kStack;

Result<Run> run_of(const std::string& yaml, const RunOptions& options = {}) {
  return parse_yaml(yaml, "run.yaml").and_then([&](const Node& node) {
    return parse_run(&node, options, Catalog());
  });
}

std::string error_of_plan(const std::string& plan) {
  RunOptions options;
  options.plan = plan;
  return error_of(run_of(kSpecs + kRest, options));
}

}  // namespace

TEST_CASE("dp and seq follow from the rest of a run") {
  const auto run = run_of(kSpecs + kRest + "plan: {tp: 4, pp: 4, micro_batch: 4}\n");
  REQUIRE_MESSAGE(run.has_value(), error_of(run));
  CHECK(run->plan.dp == 8);
  CHECK(run->micro_batches() == 32);
  CHECK(run->seq == 2048);
  CHECK(run->assumed == std::vector<std::string>{"seq: 2048 (the model's own)"});
}

TEST_CASE("where nobody states a stack the generic one is taken, and said") {
  const auto run = run_of(kModel + kCluster + kRest + "seq: 1024\n");
  REQUIRE_MESSAGE(run.has_value(), error_of(run));
  CHECK(run->stack.name == "generic");
  CHECK(run->assumed == std::vector<std::string>{"stack: generic (none stated)"});
}

TEST_CASE("options override the run file") {
  RunOptions options;
  options.gpus = 64;
  options.seq = 1024;
  options.global_batch = 256;
  options.plan = "pp=2";
  options.model = "gpt2";
  const auto run = run_of(kSpecs + kRest + "plan: {pp: 4, micro_batch: 2}\n", options);
  CHECK(error_of(run) == "no error");
  REQUIRE(run.has_value());
  CHECK(run->model.name == "gpt2");
  CHECK(run->plan.pp == 2);
  CHECK(run->plan.micro_batch == 2);
  CHECK(run->plan.dp == 32);
  CHECK(run->seq == 1024);
  CHECK(run->assumed == std::vector<std::string>{"dropout left out: stack small has none"});  // gpt2's 0.1
}

TEST_CASE("what a run needs and nobody gives is named with both ways to give it") {
  const auto bare = [](const RunOptions& options) {
    return error_of(parse_run(nullptr, options, Catalog()));
  };
  RunOptions options;
  CHECK(bare(options) == "foretrain: error: no model: give model or 'model:' in the run file");
  options.model = "gpt2";
  CHECK(bare(options) == "foretrain: error: no cluster: give cluster or 'cluster:' in the run file");
  CHECK(error_of(run_of("gpus: 8\n")) ==
        "run.yaml:1:1: error: no model: give model or 'model:' in the run file");
  CHECK(error_of(run_of(kSpecs)) == "run.yaml:1:1: error: no gpus: give gpus or 'gpus:' in the run file");
  CHECK(error_of(run_of(kSpecs + "gpus: 8\n")) ==
        "run.yaml:1:1: error: no global_batch: give global_batch or 'global_batch:' in the run file");
  CHECK(error_of(run_of(replaced(kSpecs, ", seq: 2048", "") + kRest)) ==
        "run.yaml:1:1: error: no seq: give seq or 'seq:' in the run file");
}

TEST_CASE("an option's error names the option") {
  RunOptions options;
  options.model = "gpt2-xll";
  CHECK(error_of(run_of(kSpecs + kRest, options)) ==
        "foretrain: error: model: unknown model 'gpt2-xll'; did you mean 'gpt2-xl'?");
  options = {};
  options.gpus = -1;
  CHECK(error_of(run_of(kSpecs + kRest, options)).starts_with("foretrain: error: gpus: "));
  CHECK(error_of_plan("tpp=2") == "foretrain: error: plan: unknown key 'tpp'; did you mean 'tp'?");
}

TEST_CASE("a broken rule is laid at the door of the option that states the plan or its counts") {
  const std::string file = "plan: {tp: 4, pp: 4, micro_batch: 4}\n" + kSpecs + kRest;
  const auto line =
      1 + std::count(file.begin(), file.begin() + static_cast<int>(file.find("gpus: 128")), '\n');
  CHECK(error_of(run_of(replaced(file, "tp: 4", "tp: 3")))
            .starts_with("run.yaml:" + std::to_string(line) + ":7: error: gpus 128 is not"));
  RunOptions options;
  options.plan = "micro_batch=3";
  CHECK(error_of(run_of(file, options)) ==
        "foretrain: error: plan: global_batch 1024 is not a multiple of dp*micro_batch = 8*3 = 24");
  options = {};
  options.gpus = 100;
  CHECK(error_of(run_of(file, options)) == "foretrain: error: gpus 100 is not a multiple of tp*pp*cp = 16");
  options = {};
  options.global_batch = 63;
  CHECK(error_of(run_of(file, options)) ==
        "foretrain: error: global_batch 63 is not a multiple of dp*micro_batch = 8*4 = 32");
  options = {};
  options.seq = 1'000'000'000;
  CHECK(error_of(run_of(file, options)).starts_with("foretrain: error: seq: "));
}

TEST_CASE("the profile is the option's word, else the file's, and is not looked up here") {
  const std::string file = "profile: h200\n" + kSpecs + kRest;
  CHECK(run_of(file)->profile == "h200");
  RunOptions options;
  options.profile = "analytic";
  CHECK(run_of(file, options)->profile == "analytic");
  CHECK(run_of(kSpecs + kRest)->profile.empty());
}

TEST_CASE("a run is read whatever its plan, and checked only where it is parsed") {
  const std::string yaml = kSpecs + kRest + "plan: {tp: 3}\n";
  CHECK(error_of(run_of(yaml)) != "");
  const auto node = parse_yaml(yaml, "run.yaml");
  REQUIRE(node.has_value());
  const auto read = read_run(&*node, {}, Catalog());
  REQUIRE(read.has_value());
  CHECK(read->plan.tp == 3);
  CHECK(read->gpus == 128);
  CHECK(read->plan.dp == 0);  // follows from the check
}

TEST_CASE("a wrong run file is refused with its place") {
  CHECK(error_of(run_of("modle: gpt2\n")) ==
        "run.yaml:1:1: error: unknown key 'modle'; did you mean 'model'?");
  CHECK(error_of(run_of("- model\n")) == "run.yaml:1:1: error: expected a map that describes a run");
  CHECK(error_of(run_of("model: gpt2\nmodel: gpt2\n"))
            .starts_with("run.yaml:2:1: error: duplicate key 'model'"));
  CHECK(error_of(run_of("gpus: 10000001\n" + kSpecs)).starts_with("run.yaml:1:7: error: gpus: "));
  CHECK(error_of(run_of("plan: {tp: 3}\n" + kSpecs + "gpus: 3\nglobal_batch: 8\n")) ==
        "run.yaml:1:12: error: tp 3 does not divide heads 64");
}

TEST_CASE("GPUs are shared out without remainder") {
  CHECK(error_of_plan("tp=8,pp=3") == "foretrain: error: plan: gpus 128 is not a multiple of tp*pp*cp = 24");
  CHECK(error_of_plan("tp=4,pp=4,dp=4") ==
        "foretrain: error: plan: dp 4 is stated, but gpus/(tp*pp*cp) = 128/16 = 8");
  CHECK(error_of_plan("tp=8,micro_batch=3") ==
        "foretrain: error: plan: global_batch 1024 is not a multiple of dp*micro_batch = 16*3 = 48");
  CHECK(error_of_plan("tp=8,dp=16") == "no error");
}

TEST_CASE("tensor parallelism divides heads, kv heads, ffn and with sp the sequence") {
  CHECK(error_of_plan("tp=128") == "foretrain: error: plan: tp 128 does not divide heads 64");
  CHECK(error_of_plan("tp=16") == "no error");  // two ranks share a kv head
  RunOptions options;
  options.plan = "tp=4";
  CHECK(error_of(run_of(replaced(kSpecs, "kv_heads: 8, ffn: 24576", "ffn: 24574") + kRest, options)) ==
        "foretrain: error: plan: tp 4 does not divide ffn 24574");
  const std::string six = replaced(kSpecs, "heads: 64, kv_heads: 8", "heads: 96, kv_heads: 6") + kRest;
  CHECK(error_of(run_of(six, options)) ==
        "foretrain: error: plan: tp 4 neither divides kv_heads 6 nor is a multiple of it");
  CHECK(error_of_plan("sp=1") == "foretrain: error: plan: sp needs tp > 1");
  options.plan = "tp=4,sp=1";
  options.seq = 1023;
  CHECK(error_of(run_of(kSpecs + kRest, options)) ==
        "foretrain: error: plan: tp 4 does not divide seq 1023, which sp needs");
}

TEST_CASE("stages hold all the layers, and embedding and head may stand alone") {
  CHECK(error_of_plan("pp=64") ==
        "foretrain: error: plan: pp 64 is more than layers 44 with embedding and head");
  CHECK(error_of_plan("pp=4,layers_per_stage=11-12-12-9") == "no error");
  CHECK(error_of_plan("pp=4,layers_per_stage=0-22-22-0") == "no error");
  CHECK(error_of_plan("pp=4,layers_per_stage=22-22") ==
        "foretrain: error: plan: layers_per_stage has 2 entries, but pp is 4");
  CHECK(error_of_plan("pp=4,layers_per_stage=11-11-11-12") ==
        "foretrain: error: plan: layers_per_stage sums to 45, but the model has 44 layers");
}

TEST_CASE("a plan fits its cluster") {
  RunOptions options;
  options.gpus = 6;
  options.global_batch = 6;
  CHECK(error_of(run_of(kSpecs, options)) ==
        "foretrain: error: gpus 6 is more than one node, but not a multiple of gpus_per_node 4");
  options.gpus = 3;
  CHECK(error_of(run_of(kSpecs, options)) == "no error");
  const std::string one_node = replaced(kSpecs, "  inter: {gbps: 800, latency_us: 6}\n", "");
  CHECK(error_of(run_of(one_node, options)) == "no error");
  CHECK(error_of(run_of(one_node + kRest)) ==
        "run.yaml:21:7: error: gpus 128 is more than 4, and cluster 'inline' states no 'inter' links");
  CHECK(error_of_plan("precision=fp16") == "foretrain: error: plan: gpu 'inline' has no fp16 rate");
  // Six GPUs are refused for what they are, not for the batch that does not go with them.
  options.gpus = 6;
  options.global_batch = 7;
  CHECK(error_of(run_of(kSpecs, options)) ==
        "foretrain: error: gpus 6 is more than one node, but not a multiple of gpus_per_node 4");
}

TEST_CASE("a sequence is no longer than the table of learned positions") {
  RunOptions options;
  options.model = "gpt2";
  options.seq = 1024;
  CHECK(error_of(run_of(kCluster + kStack + kRest, options)) == "no error");
  options.seq = 100'000;
  CHECK(error_of(run_of(kCluster + kStack + kRest, options)) ==
        "foretrain: error: seq 100000 is beyond the model's 1024 learned positions");
}

TEST_CASE("what a run rests on without saying so is told once") {
  using Lines = std::vector<std::string>;
  const auto assumed = [](const std::string& yaml, const RunOptions& options) {
    auto run = run_of(yaml + "seq: 2048\n", options);
    REQUIRE_MESSAGE(run.has_value(), error_of(run));
    CHECK(check_run(*run).has_value());  // again
    return run->assumed;
  };
  RunOptions options;
  CHECK(assumed(kSpecs + kRest, options) == Lines{});

  const std::string guessed = replaced(kSpecs, "latency_us: 6}", "latency_us: 6, assumed: true}");
  CHECK(assumed(guessed + kRest, options) == Lines{"inter-node links of inline: assumed"});
  CHECK(assumed(guessed + "gpus: 4\nglobal_batch: 8\n", options) == Lines{});  // one node

  const std::string dropping = replaced(kSpecs, "vocab: 50432", "vocab: 50432, dropout: 0.1");
  CHECK(assumed(dropping + kRest, options) == Lines{"dropout left out: stack small has none"});
  options.stack = "neox";
  CHECK(assumed(dropping + kRest, options) == Lines{});
  options.stack = "megatron";
  options.plan = "recompute=selective";
  CHECK(assumed(kSpecs + kRest, options) ==
        Lines{"recompute=selective repeats nothing with flash attention"});
  options.plan += ",attention=unfused";
  CHECK(assumed(kSpecs + kRest, options) == Lines{});
}

TEST_CASE("a stack has the parts that the model is made of") {
  CHECK(error_of(run_of(replaced(kSpecs, "mlp: gelu", "mlp: geglu") + kRest)) ==
        "foretrain: error: stack 'small' has no part mlp.geglu");
  CHECK(error_of(run_of(replaced(kSpecs, "norm: layernorm", "norm: rmsnorm") + kRest)) ==
        "foretrain: error: stack 'small' has no part norm.rmsnorm");
  CHECK(error_of(run_of(replaced(kSpecs, "    rope: [{op: rope, width: qk}]\n", "") + kRest)) ==
        "foretrain: error: stack 'small' has no part rope");
  CHECK(error_of_plan("attention=unfused") ==
        "foretrain: error: plan: stack 'small' has no part attention.unfused");
}

TEST_CASE("a stack has the parts of experts and of latent attention where a model is made of them") {
  const auto of = [](const std::string& keys) {
    return error_of(run_of(replaced(kSpecs, "mlp: gelu", "mlp: gelu, " + keys) + kRest));
  };
  CHECK(of("experts: 8, top_k: 2, expert_ffn: 1024") ==
        "foretrain: error: stack 'small' has no part experts.gelu");
  const std::string specs = replaced(
      replaced(kSpecs, "mlp: gelu", "mlp: gelu, experts: 8, top_k: 2, expert_ffn: 1024"), "    residual:",
      "    experts: {gelu: [{op: grouped_product, in: hidden, out: expert_ffn, rows: routed}]}\n"
      "    residual:");
  CHECK(error_of(run_of(specs + kRest)) == "foretrain: error: stack 'small' has no part router");
  RunOptions loop;
  loop.plan = "expert_products=loop";
  CHECK(error_of(run_of(specs + kRest, loop)) ==
        "foretrain: error: plan: stack 'small' has no part experts_loop.gelu");
  const std::string latent =
      replaced(kSpecs, "kv_heads: 8, ", "kv_rank: 512, nope_dim: 64, rope_dim: 32, v_dim: 64, ");
  CHECK(error_of(run_of(latent + kRest)) == "foretrain: error: stack 'small' has no part latent_down");
}

TEST_CASE("tensor ranks share heads and widths, and with experts the tokens too") {
  const Block dense{{8, 2, 64}, {MlpKind::kSwiglu, 512}};
  CHECK_FALSE(tensor_refusal(dense, 4));
  CHECK(tensor_refusal(dense, 16) == "tp 16 does not divide heads 8");
  Block block = dense;
  block.attention.kv_heads = 3;
  CHECK(tensor_refusal(block, 2) == "tp 2 neither divides kv_heads 3 nor is a multiple of it");
  block = dense;
  block.feed_forward.ffn = 510;
  CHECK(tensor_refusal(block, 4) == "tp 4 does not divide ffn 510");
  block.feed_forward = {.mlp = MlpKind::kSwiglu, .experts = 8, .top_k = 2, .expert_ffn = 511};
  CHECK_FALSE(tensor_refusal(block, 4));
  block.feed_forward.shared_ffn = 510;
  CHECK(tensor_refusal(block, 4) == "tp 4 does not divide shared_ffn 510");
  RunOptions options;
  options.model = "mixtral-8x7b";
  options.stack = "hf-eager";
  options.plan = "tp=2";
  CHECK(error_of(run_of(kCluster + kRest, options)) == "foretrain: error: plan: experts with tp > 1 need sp");
}

TEST_CASE("what is not modelled yet is named in few words") {
  const auto reason = [](const char* plan) { return not_modelled(*parse_plan(plan)).value_or(""); };
  CHECK(reason("tp=8,zero=1") == "");
  CHECK(reason("cp=2") == "");
  CHECK(reason("zero=3") == "");
  CHECK(reason("grad_dtype=fp8") == "grad_dtype fp8");
  CHECK(error_of_plan("grad_dtype=fp8") == "foretrain: error: plan: not modelled yet: grad_dtype fp8");
}

TEST_CASE("shard groups divide the data-parallel ranks, where anything is divided") {
  const auto on_eight = [](const char* plan) {
    RunOptions options;
    options.plan = plan;
    return error_of(run_of(kSpecs + "gpus: 8\nglobal_batch: 8\n", options));
  };
  CHECK(on_eight("zero=3,shard=4") == "no error");
  CHECK(on_eight("zero=1,shard=8") == "no error");
  CHECK(on_eight("zero=3,shard=3") == "foretrain: error: plan: shard 3 does not divide dp*cp = 8");
  CHECK(on_eight("shard=4") == "foretrain: error: plan: shard needs zero 1, 2 or 3");
}

TEST_CASE("sizes that would overflow are refused") {
  RunOptions options;
  options.seq = 100'000'000;
  options.global_batch = 1'000'000'000;
  CHECK(error_of(run_of(kSpecs + "gpus: 128\n", options)) ==
        "foretrain: error: global_batch 1000000000 * seq 100000000 is more than 10^12 tokens a step");
  options.global_batch = 128;
  CHECK(error_of(run_of(kSpecs + "gpus: 128\n", options)) ==
        "foretrain: error: micro_batch 1 * seq 100000000 makes a tensor of more than 2^53 bytes");
}

TEST_CASE("a step has no more passes than can be simulated at once") {
  // One GPU, one sequence a micro-batch: as many micro-batches as sequences.
  CHECK(error_of(run_of(kSpecs + "gpus: 1\nglobal_batch: 10000000\n")) == "no error");
  CHECK(error_of(run_of(kSpecs + "gpus: 1\nglobal_batch: 10000001\n")) ==
        "foretrain: error: 10000001 micro-batches a step * pp 1 is more than 10^7; raise micro_batch or dp");
  RunOptions options;
  options.plan = "pp=4";
  CHECK(error_of(run_of(kSpecs + "gpus: 4\nglobal_batch: 2500000\n", options)) == "no error");
  CHECK(error_of(run_of(kSpecs + "gpus: 4\nglobal_batch: 2500001\n", options)) ==
        "foretrain: error: plan: 2500001 micro-batches a step * pp 4 is more than 10^7; raise micro_batch "
        "or dp");
}

TEST_CASE("recompute_layers belongs to full recomputation") {
  const auto run = [](const std::string& plan) {
    RunOptions options;
    options.model = "gpt2";
    options.cluster = "h200-1";
    options.gpus = 1;
    options.global_batch = 8;
    options.plan = plan;
    return parse_run(nullptr, options, Catalog());
  };
  CHECK(run("recompute=full,recompute_layers=3").has_value());
  const auto wrong = run("recompute_layers=3");
  REQUIRE_FALSE(wrong.has_value());
  CHECK(wrong.error().message.find("recompute_layers needs recompute=full") != std::string::npos);
}

TEST_CASE("what a training stops for is read with its length") {
  const auto run = run_of(kSpecs + kRest +
                          "seq: 2048\npauses: {checkpoint: {every: 1000, seconds: 40}, evaluation: {every: "
                          "500, seconds: 9.5}}\n");
  REQUIRE_MESSAGE(run.has_value(), error_of(run));
  REQUIRE(run->pauses.size() == 2);
  CHECK(run->pauses[0] == Pause{"checkpoint", 1000, Seconds(40)});
  CHECK(run->pauses[1] == Pause{"evaluation", 500, Seconds(9.5)});
  CHECK(error_of(run_of(kSpecs + kRest + "seq: 2048\npauses: {checkpoint: {seconds: 40}}\n"))
            .find("missing key 'every'") != std::string::npos);
}

TEST_CASE("a module that no layer has is not run again, and said to be missing") {
  const auto refusal = [](const std::string& model, const std::string& modules) {
    RunOptions options;
    options.model = model;
    options.cluster = "dgx-h100";
    options.stack = "megatron";
    options.gpus = 64;
    options.global_batch = 64;
    options.plan = "recompute=" + modules;
    return error_of(parse_run(nullptr, options, Catalog()));
  };
  const auto says = [&](const std::string& model, const std::string& modules, const std::string& reason) {
    return refusal(model, modules).find(reason) != std::string::npos;
  };
  CHECK(says("llama-3-8b", "mla_up_proj", "recompute_modules mla_up_proj needs latent attention, and model"));
  CHECK(says("llama-3-8b", "moe_act", "needs experts"));
  CHECK(says("mixtral-8x7b", "shared_experts", "needs shared experts"));
  CHECK(says("mixtral-8x7b", "core_attn+mlp", "needs a dense MLP"));
  CHECK(refusal("deepseek-v3", "mla_up_proj+mlp+moe_act+shared_experts+layernorm") == "no error");
}

TEST_CASE("a batch counted in tokens is a whole number of sequences") {
  CHECK(batch_tokens("4Mtok") == 4'000'000);
  CHECK(batch_tokens("128ktok") == 131'072);
  CHECK_FALSE(batch_tokens("512").has_value());
  CHECK_FALSE(batch_tokens("tok").has_value());
  CHECK_FALSE(batch_tokens("-1tok").has_value());
  CHECK(sequences_of(4'194'304, 2048).value() == 2048);
  CHECK(error_of(sequences_of(4'000'000, 4096)) ==
        "foretrain: error: found 4000000 tokens, expected a multiple of seq 4096, such as 4001792 (977 "
        "sequences)");
  // The model's own 2048 tokens: 2^20 of them are 512 sequences, in a file and as an option.
  const std::string gpus = "gpus: 128\n";
  CHECK(run_of(kSpecs + gpus + "global_batch: 1024ktok\n").value().global_batch == 512);
  RunOptions options;
  options.global_batch_tokens = 1'048'576;
  CHECK(run_of(kSpecs + kRest, options).value().global_batch == 512);
  CHECK(error_of(run_of(kSpecs + gpus + "global_batch: 1Mtok\n")).find("run.yaml:") == 0);
}
