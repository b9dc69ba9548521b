#include "job/context_check.h"

#include <doctest/doctest.h>

#include "job/testing.h"

namespace foretrain {
namespace {

std::string refused(const char* model, const char* stack, const char* plan, std::int64_t seq = 65536) {
  return foretrain::refused(model, stack, plan, seq, "dgx-h100");
}

TEST_CASE("context ranks have equal shares, two pieces each where work is balanced") {
  CHECK(refused("llama-3-8b", "megatron", "cp=8") == "");
  CHECK(refused("llama-3-8b", "megatron", "cp=8", 65528) == "2*cp = 16 does not divide seq 65528");
  CHECK(refused("llama-3-8b", "generic", "cp=8,cp_type=a2a", 65528) == "");
  CHECK(refused("llama-3-8b", "generic", "cp=8,cp_type=a2a", 65532) == "cp = 8 does not divide seq 65532");
  CHECK(refused("llama-3-8b", "megatron", "tp=8,sp=1,cp=8", 65536 + 16) ==
        "tp 8 does not divide seq/cp = 65552/8, which sp needs");
}

// Of llama-3-8b: 32 heads, 8 of keys and values.
TEST_CASE("all-to-alls divide heads; those of keys and values are copied where the stack does it") {
  CHECK(refused("llama-3-8b", "megatron", "tp=2,sp=1,cp=4,cp_type=a2a") == "");
  CHECK(refused("llama-3-8b", "megatron", "tp=2,sp=1,cp=8,cp_type=a2a") ==
        "all-to-alls of 8 context ranks do not divide kv_heads/tp = 8/2");
  CHECK(refused("llama-3-8b", "generic", "tp=2,sp=1,cp=8,cp_type=a2a") == "");
  CHECK(refused("llama-3-8b", "generic", "cp=64,cp_type=a2a") ==
        "all-to-alls of 64 context ranks do not divide heads/tp = 32/1");
  CHECK(a2a_refusal({.heads = 12, .kv_heads = 3, .head_dim = 64}, 1, 4, true) ==
        "all-to-alls of 4 context ranks do not divide kv_heads/tp = 3/1 nor are a multiple of it");
  CHECK_FALSE(a2a_refusal({.heads = 12, .kv_heads = 3, .head_dim = 64}, 1, 1, false));
}

TEST_CASE("a hierarchy states its inner ranks, and nobody else does") {
  CHECK(refused("llama-3-8b", "megatron", "cp=8,cp_type=a2a+p2p") ==
        "cp_type a2a+p2p needs cp_a2a, the ranks of each all-to-all");
  CHECK(refused("llama-3-8b", "megatron", "cp=8,cp_type=a2a+p2p,cp_a2a=4") == "");
  for (const char* inner : {"1", "3", "8", "16"})
    CHECK(refused("llama-3-8b", "megatron", (std::string("cp=8,cp_type=a2a+p2p,cp_a2a=") + inner).c_str()) ==
          std::string("cp_a2a ") + inner + " is not a divisor of cp 8 between 1 and it");
  CHECK(refused("llama-3-8b", "megatron", "cp=8,cp_a2a=4") == "cp_a2a needs cp_type a2a+p2p");
  CHECK(refused("llama-3-8b", "megatron", "cp_type=a2a") == "cp_type needs cp > 1");
  CHECK(refused("llama-3-8b", "megatron", "cp_a2a=2") == "cp_a2a needs cp > 1");
}

TEST_CASE("a stack says which ways it has") {
  CHECK(refused("llama-3-8b", "nanotron", "cp=2") ==
        "stack 'nanotron' has no context parallelism: cp must be 1");
  CHECK(refused("llama-3-8b", "torchtitan", "cp=2,cp_type=a2a") ==
        "stack 'torchtitan' has no cp_type a2a, expected p2p, allgather");
  CHECK(refused("llama-3-8b", "megatron", "cp=2,attention=unfused") == "cp > 1 needs attention flash");
  CHECK(refused("deepseek-v3", "megatron", "cp=2,ep=64,pp=1,expert_imbalance=1") == "");
  CHECK(refused("deepseek-v3", "megatron", "cp=2,cp_type=a2a,ep=64,expert_imbalance=1") ==
        "stack 'megatron' has latent attention with cp_type p2p and a2a+p2p alone");
  CHECK(refused("gpt-oss-20b", "megatron", "cp=2,ep=32,expert_imbalance=1") ==
        "sliding windows need cp_type a2a or allgather: a ring has blocks that no query sees");
}

}  // namespace
}  // namespace foretrain
