#include "job/launch_check.h"

#include <doctest/doctest.h>

#include "job/testing.h"

namespace foretrain {
namespace {

std::string refused(const char* stack, const char* plan) {
  return foretrain::refused("llama-3-8b", stack, plan, 8192);
}

TEST_CASE("a framework's own rule is the reason") {
  CHECK(refused("megatron", "pp=8,schedule=1f1b") == "");
  CHECK(refused("megatron", "pp=8,schedule=zbv") ==
        "stack 'megatron' does not run schedule=zbv, expected schedule=1f1b|interleaved: "
        "core/pipeline_parallel/schedules.py has no other");
  CHECK(refused("megatron", "zero=1,overlap_param_gather=1")
            .starts_with("stack 'megatron' does not run overlap_grad_reduce=0 with overlap_param_gather=1, "
                         "expected overlap_grad_reduce=1: "));
  CHECK(refused("megatron", "zero=1,overlap_grad_reduce=1,overlap_param_gather=1") == "");
  CHECK(refused("megatron", "zero=0,overlap_grad_reduce=1,overlap_param_gather=1") != "");
}

TEST_CASE(
    "Megatron-LM divides states alone, Megatron-FSDP gradients and weights too, and Bridge has either") {
  CHECK(refused("megatron", "zero=1") == "");
  for (const char* plan : {"zero=2,overlap_grad_reduce=1", "zero=3,overlap_grad_reduce=1"}) {
    CHECK(refused("megatron", plan).find("expected zero=0|1") != std::string::npos);
    CHECK(refused("nemo", plan) == "");
    CHECK(refused("primus-megatron", plan) != "");
    CHECK(refused("megatron-fsdp", plan) == "");
    CHECK(refused("megatron-bridge", plan) == "");
  }
  CHECK(refused("megatron-fsdp", "zero=1") == "");
  CHECK(refused("megatron-fsdp", "zero=0") != "");
  CHECK(refused("megatron-bridge", "zero=0") == "");
  // 64 GPUs: one data-parallel rank is nothing to divide over, unless context ranks are beside it.
  CHECK(refused("megatron-fsdp", "tp=8,pp=8,zero=3").find("expected dp=2..") != std::string::npos);
  CHECK(refused("megatron-fsdp", "tp=8,pp=4,cp=2,zero=3") == "");
}

TEST_CASE("what a plan leaves open is the stack's") {
  CHECK(refused("nemo", "zero=1") == "");  // both overlaps are its own
  CHECK(refused("nemo", "zero=1,overlap_grad_reduce=0") != "");
  CHECK(refused("nemo", "zero=0") == "");  // nothing is gathered
}

TEST_CASE("a stack over another has its rules, and its own in their place") {
  CHECK(refused("megatron", "pp=8,schedule=zbv") != "");
  CHECK(refused("primus-megatron", "pp=8,schedule=zbv") == "");
  CHECK(refused("megatron-bridge", "pp=8,schedule=zbv") != "");
  CHECK(refused("torchtitan", "zero=3,lora=8") != "");
  CHECK(refused("torchtune", "zero=3,lora=8") == "");
}

TEST_CASE("a stack without rules runs what can be stated") {
  CHECK(refused("generic", "pp=8,schedule=zbv,zero=2") == "");
  CHECK(refused("any", "pp=8,schedule=zbv,zero=2") == "");
}

TEST_CASE("rules speak of degrees, of what is divided and of what is run again") {
  CHECK(refused("torchtitan", "zero=3,tp=2") != "");
  CHECK(refused("torchtitan", "zero=3,tp=2,sp=1") == "");
  CHECK(refused("torchtitan", "tp=2,sp=1,zero=0").find("DDP has not supported") != std::string::npos);
  CHECK(refused("nanotron", "pp=2,layers_per_stage=17-15") != "");
  CHECK(refused("neox", "pp=2,zero=2").find("incompatible with pipeline parallelism") != std::string::npos);
  CHECK(refused("neox", "zero=2") == "");
  CHECK(refused("hf-trainer", "zero=3,recompute=full,recompute_layers=4") != "");
  CHECK(refused("llm-foundry", "zero=3,tp=2,sp=1") != "");
}

}  // namespace
}  // namespace foretrain
