#include "job/run_check.h"

#include <doctest/doctest.h>

#include <string>

#include "job/run_text_testing.h"
#include "spec/plan_text.h"

using namespace foretrain;

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
