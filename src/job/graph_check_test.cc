#include "job/graph_check.h"

#include <doctest/doctest.h>

#include "job/testing.h"

namespace foretrain {
namespace {

std::string refused(const char* model, const char* stack, const char* plan) {
  return foretrain::refused(model, stack, plan, 4096);
}

TEST_CASE("a stack says what it captures") {
  for (const char* plan : {"cuda_graph=none", "cuda_graph=attn", "cuda_graph=attn+mlp", "cuda_graph=layer",
                           "cuda_graph=full", "cuda_graph=full_iteration"})
    CHECK(refused("llama-3-8b", "megatron", plan) == "");
  CHECK(refused("llama-3-8b", "torchtune", "zero=3,cuda_graph=none") == "");
  CHECK(refused("llama-3-8b", "torchtune", "zero=3,cuda_graph=full") ==
        "cuda_graph: stack 'torchtune' captures none, expected none");
  CHECK(refused("llama-3-8b", "hf-compile", "zero=3,cuda_graph=full") ==
        "cuda_graph: stack 'hf-compile' does not capture full, expected none, layer");
}

TEST_CASE("whole layers that are run again are captured with the step alone") {
  CHECK(refused("llama-3-8b", "megatron", "recompute=full,cuda_graph=full") == "");
  CHECK(refused("llama-3-8b", "megatron", "recompute=full,cuda_graph=attn") ==
        "cuda_graph: graphs of layers do not go with recompute=full, expected full or none");
}

TEST_CASE("what is offloaded is not captured") {
  CHECK(refused("llama-3-8b", "generic", "offload=1") == "");
  CHECK(refused("llama-3-8b", "megatron", "offload=1,cuda_graph=attn") ==
        "cuda_graph: graphs do not go with offload=1, expected none");
}

TEST_CASE("nothing that the host waits for is captured") {
  const std::string waits =
      "cuda_graph: the host waits for how many rows each expert gets, which no graph can hold: expected "
      "expert_sync=0 or capacity_pad=1, or attn+moe_router+moe_preprocess";
  for (const char* scope : {"moe", "layer", "full"}) {
    const std::string plan = std::string("ep=8,cuda_graph=") + scope;
    CHECK(refused("mixtral-8x7b", "megatron", plan.c_str()) == waits);
    CHECK(refused("mixtral-8x7b", "megatron", (plan + ",expert_sync=0,dispatcher=hybridep").c_str()) == "");
    CHECK(refused("mixtral-8x7b", "megatron", (plan + ",capacity_factor=1,capacity_pad=1").c_str()) == "");
  }
  CHECK(refused("mixtral-8x7b", "megatron", "ep=8,cuda_graph=attn+moe_router+moe_preprocess") == "");
  CHECK(refused("mixtral-8x7b", "megatron", "ep=8,cuda_graph=attn+moe_preprocess") ==
        "cuda_graph: moe_preprocess needs moe_router");
  CHECK(refused("mixtral-8x7b", "megatron", "ep=8,permute_fusion=0,cuda_graph=moe_router+moe_preprocess") ==
        "cuda_graph: moe_preprocess needs permute_fusion=1: else the host reads what moves rows");
}

TEST_CASE("words of a scope") {
  CHECK(to_text(parse_plan("cuda_graph=full_iteration").value(), Plan{}) == "cuda_graph=full");
  CHECK(to_text(parse_plan("cuda_graph=none").value(), Plan{}) == "cuda_graph=none");
  CHECK(to_text(parse_plan("cuda_graph=mlp+attn").value(), Plan{}) == "cuda_graph=attn+mlp");
  CHECK(parse_plan("cuda_graph=attn+full").error().message ==
        "cuda_graph: layer and full stand alone: each captures what modules would");
  CHECK_FALSE(parse_plan("cuda_graph=atn"));
}

TEST_CASE("a graph holds one number of rows, and NCCL's dispatchers bring another in every step") {
  CHECK(refused("mixtral-8x7b", "megatron", "ep=8,cuda_graph=full,expert_sync=0,dispatcher=alltoall") ==
        "cuda_graph: with dispatcher alltoall the number of rows that a rank gets changes, which no graph "
        "can hold: "
        "expected capacity_pad=1, deepep or hybridep");
  CHECK(refused("mixtral-8x7b", "megatron",
                "ep=8,cuda_graph=full,dispatcher=alltoall,capacity_factor=1,capacity_pad=1") == "");
}

TEST_CASE("a module is captured once") {
  CHECK(parse_plan("cuda_graph=attn+attn").error().message.find("duplicate word 'attn'") !=
        std::string::npos);
}

}  // namespace
}  // namespace foretrain
