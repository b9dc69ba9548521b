#include "ask/launch.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <random>

#include "ask/convert.h"
#include "ask/run_file.h"
#include "base/json_node.h"
#include "job/launch_run.h"
#include "job/parse_run.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

const Catalog kCatalog;

struct Case {
  std::string format, model, stack, plan;
  std::int64_t gpus = 64, seq = 4096, global_batch = 256;
  std::string cluster = "dgx-b200";
};

Result<Run> run_of(const Case& c) {
  RunOptions options;
  options.model = c.model;
  options.cluster = c.cluster;
  options.stack = c.stack;
  options.gpus = c.gpus;
  options.seq = c.seq;
  options.global_batch = c.global_batch;
  options.plan = c.plan;
  return parse_run(nullptr, options, kCatalog);
}

// What a plan comes to, in words: choices stated, layers by chunk. How tokens fall is the data's matter, and which kernels
// attend that of what is installed.
std::string meaning(const Run& run) {
  LaunchRun launch = launch_run_of(run);
  Plan& plan = launch.plan;
  plan.expert_imbalance.reset();
  plan.attention_kernel.reset();
  plan.schedule = launch.schedule;
  plan.layers_per_stage = plan.pp > 1 ? launch.layers : std::vector<std::int64_t>{};
  return to_text(plan);
}

std::string sizes(const Model& m) {
  std::string blocks;
  for (const BlockRun& run : m.blocks) {
    const Attention& a = run.block.attention;
    const FeedForward& f = run.block.feed_forward;
    blocks +=
        fmt::format(" {}x[{}/{}x{} w{} q{} kv{} n{} r{} v{} qk{} ffn{} e{}/{}x{} s{} g{}/{}]", run.count,
                    a.heads, a.kv_heads, a.head_dim, a.window, a.q_rank, a.kv_rank, a.nope_dim, a.rope_dim,
                    a.v_dim, static_cast<int>(a.qk_norm), f.has_experts() ? 0 : f.ffn, f.experts, f.top_k,
                    f.expert_ffn, f.shared_ffn, f.routing_groups, f.group_limit);
  }
  return fmt::format("hidden {} vocab {} tied {} biases {} {} norm {} positions {} mtp {}{}", m.hidden,
                     m.vocab, m.tied, m.biases, m.qkv_bias, static_cast<int>(m.norm),
                     static_cast<int>(m.positions), m.mtp_layers, blocks);
}

// The written text, read again as if nobody knew where it came from.
void check_reads_back(const Case& c, const Run& run, const WholeLaunch& whole) {
  const std::string text = launch_text(whole, false);
  CAPTURE(text);
  auto file = read_run_file({"launch.sh", text}, kCatalog);
  REQUIRE_MESSAGE(file.has_value(), (file ? "" : file.error().text()));
  CHECK(file->foreign->contradictions == std::vector<std::string>{});
  CHECK(file->foreign->unknown_flags == std::vector<std::string>{});
  RunOptions options;
  options.cluster = c.cluster;
  const auto again = parse_run(&file->node, options, kCatalog);
  REQUIRE_MESSAGE(again.has_value(), (again ? "" : again.error().text()));
  CHECK(again->stack.name == run.stack.name);
  CHECK(again->gpus == run.gpus);
  CHECK(again->seq == run.seq);
  CHECK(again->global_batch == run.global_batch);
  CHECK(sizes(again->model) == sizes(run.model));
  CHECK(meaning(*again) == meaning(run));
}

void check_case(const Case& c) {
  CAPTURE(c.format);
  CAPTURE(c.model);
  CAPTURE(c.plan);
  const auto run = run_of(c);
  REQUIRE_MESSAGE(run.has_value(), (run ? "" : run.error().text()));
  const auto whole = launch_of(kCatalog, *run, *find_launch_format(c.format), "to");
  REQUIRE_MESSAGE(whole.has_value(), (whole ? "" : whole.error().text()));
  check_reads_back(c, *run, *whole);
}

TEST_CASE("a written launch is read back to the same run: dense, with grouped queries") {
  check_case(
      {"megatron", "llama-3-70b", "megatron",
       "tp=8,sp=1,pp=4,vpp=5,zero=1,overlap_grad_reduce=1,overlap_param_gather=1,recompute=selective"});
  check_case({"megatron", "llama-3-70b", "megatron",
              "tp=4,sp=1,pp=4,zero=1,layers_per_stage=19-21-21-19,recompute=full"});
  check_case({"megatron", "llama-3-8b", "megatron", "tp=2,pp=4,vpp=2,layers_per_stage=9-8-8-7,tp_overlap=0"});
  check_case({"megatron", "llama-3-8b", "megatron-fsdp", "tp=2,sp=1,zero=3,precision=fp8-delayed"});
  check_case({"megatron", "gpt3-175b", "megatron",
              "tp=8,sp=1,pp=8,precision=fp16,recompute=full,recompute_layers=3", 64, 2048});
  check_case({"megatron-bridge", "llama-3-70b", "megatron-bridge",
              "tp=4,sp=1,pp=4,vpp=5,zero=1,precision=fp8-current"});
  check_case(
      {"megatron-bridge", "qwen2.5-7b", "megatron-bridge", "tp=2,sp=1,pp=2,zero=1,layers_per_stage=15-13"});
  check_case({"torchtitan", "llama-3-70b", "torchtitan", "tp=8,sp=1,pp=4,vpp=5,zero=3,recompute=full"});
  check_case({"torchtitan", "llama-3-8b", "torchtitan-compile",
              "tp=2,sp=1,zero=3,shard=8,tp_overlap=1,recompute=selective"});
  check_case({"torchtitan", "llama-3-8b", "torchtitan",
              "pp=4,zero=2,schedule=zbv,micro_batch=2,layers_per_stage=4-5-4-4-4-4-4-3"});
  check_case({"nanotron", "llama-3-8b", "nanotron", "tp=4,sp=1,pp=2,zero=1,recompute=full"});
  check_case({"nanotron", "llama-3-8b", "nanotron", "tp=8,zero=0,micro_batch=2"});
  check_case({"deepspeed", "llama-3-8b", "deepspeed", "zero=3,recompute=full,micro_batch=2"});
  check_case({"deepspeed", "llama-3-8b", "deepspeed", "zero=2,offload_optimizer=1"});
  check_case({"accelerate", "llama-3-8b", "hf-trainer", "zero=3,recompute=full"});
  check_case({"accelerate", "llama-3-8b", "hf-trainer", "zero=0,recompute=full,optimizer=adamw_8bit"});
}

TEST_CASE("a written launch is read back to the same run: a mixture of experts") {
  check_case(
      {"megatron", "mixtral-8x7b", "megatron", "tp=2,sp=1,pp=2,ep=8,etp=1,zero=1,dispatcher=alltoall"});
  check_case({"megatron", "qwen3-30b-a3b", "megatron",
              "tp=2,sp=1,ep=8,etp=1,zero=1,dispatcher=deepep,recompute=moe_act+layernorm"});
  check_case({"megatron-bridge", "qwen3-30b-a3b", "megatron-bridge", "tp=2,sp=1,pp=2,ep=4,etp=1,zero=1"});
  check_case({"torchtitan", "qwen3-30b-a3b", "torchtitan", "tp=2,sp=1,ep=8,etp=1,zero=3,recompute=full"});
  check_case({"deepspeed", "qwen3-30b-a3b", "deepspeed", "zero=3,recompute=full"});
}

TEST_CASE("a written launch is read back to the same run: latent attention, and long sequences") {
  check_case({"megatron", "deepseek-v3", "megatron",
              "tp=2,sp=1,pp=8,ep=8,etp=1,zero=1,precision=fp8-blockwise", 256});
  check_case({"megatron", "deepseek-v2-lite", "megatron", "ep=8,zero=1,capacity_factor=1.25,capacity_pad=1"});
  check_case({"megatron-bridge", "deepseek-v3", "megatron-bridge",
              "tp=2,sp=1,pp=8,ep=8,etp=1,zero=1,layers_per_stage=8-8-8-8-8-8-8-5", 256});
  check_case({"torchtitan", "deepseek-v2-lite", "torchtitan", "ep=8,zero=3,recompute=selective"});
  check_case({"megatron", "llama-3-8b", "megatron",
              "tp=2,sp=1,cp=8,cp_type=a2a+p2p,cp_a2a=4,zero=1,overlap_grad_reduce=1", 64, 131072, 16});
  check_case({"megatron", "llama-3-8b", "megatron", "tp=4,sp=1,cp=4,cp_type=allgather,zero=1,shard=8", 64,
              65536, 16});
  check_case(
      {"torchtitan", "llama-3-8b", "torchtitan", "tp=2,sp=1,cp=4,cp_type=p2p,zero=3,shard=8", 64, 65536, 16});
  check_case({"megatron-bridge", "llama-3-8b", "megatron-bridge", "tp=2,sp=1,cp=4,zero=1", 64, 65536, 16});
}

std::string unstated(const Case& c) {
  const auto run = run_of(c);
  if (!run) return "refused: " + run.error().message;
  const auto whole = launch_of(kCatalog, *run, *find_launch_format(c.format), "to");
  return whole ? "" : whole.error().message;
}

TEST_CASE("what a framework cannot be told is an error that names the key") {
  CHECK(unstated({"torchtitan", "mixtral-8x7b", "torchtitan", "zero=3"}).find("name=mixtral-8x7b") !=
        std::string::npos);
  CHECK(unstated({"torchtitan", "llama-3-8b", "torchtitan", "zero=3,precision=fp8-rowwise"})
            .find("precision=fp8-rowwise of the plan") != std::string::npos);
  CHECK(unstated({"megatron", "gemma-2-9b", "megatron", "tp=2"}).find("of the model") != std::string::npos);
  CHECK(unstated({"megatron", "bloom-176b", "megatron", "tp=8"}).find("positions=alibi of the model") !=
        std::string::npos);
  CHECK(unstated({"nanotron", "gpt2-xl", "nanotron", "tp=1", 64, 1024}).find("of the model") !=
        std::string::npos);
  CHECK(unstated({"accelerate", "llama-3-8b", "hf-trainer", "zero=1"}).find("zero=1 of the plan") !=
        std::string::npos);
  CHECK(unstated({"megatron", "llama-3-8b", "megatron", "master_weights=0"}).find("master_weights=0") ==
        std::string::npos);
}

// Plans at random: what the framework launches and can be told reads back the same.
TEST_CASE("random plans are read back the same") {
  const std::vector<Case> kinds = {
      {"megatron", "llama-3-8b", "megatron", ""},
      {"megatron", "qwen3-30b-a3b", "megatron", ""},
      {"megatron", "deepseek-v2-lite", "megatron", ""},
      {"megatron", "llama-3-8b", "megatron-fsdp", ""},
      {"megatron-bridge", "llama-3-8b", "megatron-bridge", ""},
      {"megatron-bridge", "qwen3-30b-a3b", "megatron-bridge", ""},
      {"torchtitan", "llama-3-8b", "torchtitan", ""},
      {"torchtitan", "qwen3-30b-a3b", "torchtitan-compile", ""},
      {"nanotron", "llama-3.2-1b", "nanotron", ""},
      {"deepspeed", "qwen2.5-7b", "deepspeed", ""},
      {"accelerate", "qwen2.5-7b", "hf-trainer", ""},
      {"accelerate", "llama-3-8b", "hf-trainer", ""},
  };
  std::mt19937 random(19);
  const auto any = [&](std::initializer_list<const char*> words) {
    return std::string(words.begin()[random() % words.size()]);
  };
  std::map<std::string, int> read;
  for (int trial = 0; trial < 6000; ++trial) {
    Case c = kinds[random() % kinds.size()];
    c.plan = "tp=" + any({"1", "1", "2", "4"}) + ",pp=" + any({"1", "1", "2", "4"}) +
             ",zero=" + any({"0", "1", "1", "2", "3"}) + ",micro_batch=" + any({"1", "2"}) +
             ",recompute=" + any({"none", "selective", "full"});
    if (random() % 2 == 0) c.plan += ",sp=1";
    for (const std::string& more :
         {any({"", "", ",vpp=2", ",vpp=4"}), any({"", "", ",cp=2", ",cp=2,cp_type=allgather"}),
          any({"", "", ",ep=4", ",ep=8,etp=1"}),
          any({"", ",overlap_grad_reduce=1", ",overlap_grad_reduce=0"}), any({"", ",overlap_param_gather=1"}),
          any({"", "", "", ",precision=fp8-delayed", ",precision=fp16", ",precision=mxfp8"}),
          any({"", "", ",shard=4"}), any({"", ",loss_fusion=1"}), any({"", "", ",schedule=gpipe"}),
          any({"", "", ",grad_dtype=bf16,reduce_dtype=bf16"}), any({"", "", ",offload_optimizer=1"}),
          any({"", ",tp_overlap=1"}), any({"", "", ",fp8_params=1"})})
      if (random() % 4 == 0) c.plan += more;
    const auto run = run_of(c);
    if (!run) continue;  // not of this framework
    const auto whole = launch_of(kCatalog, *run, *find_launch_format(c.format), "to");
    if (!whole) continue;  // said so
    CAPTURE(c.format);
    CAPTURE(c.plan);
    check_reads_back(c, *run, *whole);
    ++read[c.format];
  }
  for (const LaunchFormat& format : launch_formats()) {
    CAPTURE(format.word);
    CHECK(read[std::string(format.word)] >= 10);
  }
}

}  // namespace
}  // namespace foretrain
