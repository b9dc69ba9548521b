#include "job/alignment_check.h"

#include <doctest/doctest.h>

#include "job/testing.h"

namespace foretrain {
namespace {

std::string on_b200(const char* plan, std::int64_t seq, const char* model = "llama-3-8b") {
  return refused(model, "megatron", plan, seq, "dgx-b200");
}

TEST_CASE("a rank's tokens come in sixteens, of mxfp8 in thirty-twos") {
  CHECK(on_b200("precision=mxfp8", 1024) == "");
  CHECK(on_b200("precision=mxfp8", 1001) ==
        "precision mxfp8: a rank's tokens, micro_batch * seq / cp = 1001 is no multiple of 32, which its "
        "products need");
  CHECK(on_b200("precision=mxfp8", 1008) != "");
  CHECK(on_b200("precision=fp8", 1008) == "");
  CHECK(on_b200("precision=fp8", 1001) != "");
  CHECK(on_b200("precision=bf16", 1001) == "");
  CHECK(on_b200("precision=nvfp4", 1008) == "");
  // Eight sequences at once are a multiple of eight more; sequence parallelism casts a rank's own share.
  CHECK(on_b200("precision=mxfp8,micro_batch=4,dp=16,tp=4", 1004) != "");
  CHECK(on_b200("precision=mxfp8,micro_batch=4,dp=16,tp=4", 1016) == "");
  CHECK(on_b200("precision=mxfp8,tp=8,sp=1", 1024 + 128) ==
        "precision mxfp8: a rank's tokens, micro_batch * seq / (cp * tp) = 144 is no multiple of 32, which "
        "its products need");
  CHECK(on_b200("precision=mxfp8,bf16_layers=32-0", 1001) == "");
}

// The weights' gradients stay in bf16, and nothing else is summed over tokens.
TEST_CASE("tokens are free where the weights' gradient is not in fewer bits") {
  CHECK(refused("llama-3-8b", "torchtitan", "precision=fp8-rowwise-gw-hp,zero=3", 1001) == "");
  CHECK(refused("llama-3-8b", "torchtitan", "precision=fp8-rowwise,zero=3", 1001) != "");
}

// 14336 / 512 = 28.
TEST_CASE("so do the sides of products on a rank") {
  const Catalog catalog;
  Run run;
  run.model = catalog.model("llama-3-8b").value();
  run.model.blocks.front().block.feed_forward.ffn = 14336 + 8;
  run.cluster = catalog.cluster("dgx-b200").value();
  run.stack = catalog.stack("megatron").value();
  run.plan = parse_plan("precision=fp8").value();
  run.gpus = run.global_batch = 64;
  run.seq = 1024;
  CHECK(alignment_refusal(run) ==
        "precision fp8: ffn / tp = 14344 is no multiple of 16, which its products need");
  run.model.blocks.front().block.feed_forward.ffn = 14336 + 16;
  CHECK(alignment_refusal(run) == std::nullopt);
  run.plan.precision = "mxfp8";
  CHECK(alignment_refusal(run) ==
        "precision mxfp8: ffn / tp = 14352 is no multiple of 32, which its products need");
}

TEST_CASE("kernels of attention that a GPU or a format lacks") {
  CHECK(refused("llama-3-8b", "megatron", "attention=flash3", 4096) == "");
  CHECK(refused("llama-3-8b", "megatron", "attention=flash3", 4096, "dgx-a100")
            .starts_with("attention_kernel flash3 needs a Hopper GPU"));
  CHECK(on_b200("attention=flash3", 4096) ==
        "attention_kernel flash3 needs a Hopper GPU, which 'b200-180gb-sxm' (blackwell) is not, expected "
        "flash2 or cudnn");
  // Both multiply fp8, as Hopper does.
  CHECK(refused("llama-3-8b", "megatron", "attention=flash3", 4096, "mlperf-nvidia-l40s")
            .starts_with("attention_kernel flash3 needs a Hopper GPU, which 'l40s' (ada) is not"));
  CHECK(refused("llama-3-8b", "megatron", "attention=flash3", 4096, "torchao-mi300x") ==
        "attention_kernel flash3 needs a Hopper GPU, which 'mi300x-192gb' (cdna3) is not, expected flash2");
  CHECK(refused("llama-3-8b", "megatron", "attention=cudnn", 4096, "torchao-mi300x")
            .starts_with("attention_kernel cudnn needs a GPU of NVIDIA's"));
  CHECK(refused("llama-3-8b", "megatron", "precision=fp8,fp8_attention=1", 4096, "mlperf-nvidia-l40s")
            .starts_with("fp8_attention needs a Hopper GPU or a later one"));
  CHECK(on_b200("precision=fp8,fp8_attention=1,attention=flash2", 4096) ==
        "fp8_attention: FlashAttention 2 has no fp8, expected attention_kernel cudnn or flash3");
  CHECK(on_b200("precision=fp8,fp8_attention=1,attention=cudnn", 4096) == "");
}

TEST_CASE("what is not asked for needs no recipe, and what a recipe cannot do is said") {
  CHECK(on_b200("precision=bf16,fp8_attention=0,fp8_params=0,fp8_head=0,bf16_layers=0-0", 4096) == "");
  CHECK(on_b200("precision=bf16,fp8_attention=1", 4096) != "");
  CHECK(on_b200("precision=mxfp8,fp8_params=1,zero=3", 4096) ==
        "fp8_params with zero=3: recipe mxfp8 gathers weights in bf16, from which every pass casts them, "
        "expected "
        "fp8_params=0 or zero 0 to 2");
  CHECK(on_b200("precision=fp8-current,fp8_params=1,zero=1", 4096) == "");
  CHECK(on_b200("precision=mxfp8,fp8_params=1,zero=1", 4096) == "");
}

}  // namespace
}  // namespace foretrain
