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

TEST_CASE("rules speak of products in fewer bits") {
  CHECK(refused("torchtune", "tp=2,sp=1,zero=3") == "");
  CHECK(refused("torchtune", "zero=3,precision=fp8-rowwise") == "");
  CHECK(refused("torchtune", "tp=2,sp=1,zero=3,precision=fp8-rowwise")
            .starts_with("stack 'torchtune' does not run tp=2 with narrow=1, expected tp=1: "));
  CHECK(refused("torchtune", "tp=2,sp=1,zero=3,lora=8").find("fully_shard alone") != std::string::npos);
}

TEST_CASE(
    "InternEvo's zero-bubble pipeline does not reduce beside the backward, and its rings divide heads too") {
  CHECK(refused("internevo", "pp=4,schedule=zb-h1,overlap_grad_reduce=0") == "");
  CHECK(refused("internevo", "pp=4,schedule=zb-h1,overlap_grad_reduce=1")
            .find("expected overlap_grad_reduce=0") != std::string::npos);
  CHECK(refused("internevo", "cp=4,cp_type=p2p") == "");
  CHECK(refused("internevo", "cp=2,zero=3").find("expected cp=1") != std::string::npos);
}

TEST_CASE("A shard group of all ranks is none") {
  CHECK(refused("internevo", "zero=1,tp=8,shard=8") == "");  // 64 GPUs: dp is 8
  CHECK(refused("nanotron", "zero=1,tp=8,shard=8") == "");
  CHECK(refused("nanotron", "zero=1,tp=8,shard=4").find("expected shard=0") != std::string::npos);
  CHECK(refused("deepspeed", "zero=1,shard=64") == "");
  CHECK(refused("deepspeed", "zero=1,shard=8").find("zero_hpz_partition_size") != std::string::npos);
}

TEST_CASE("Gathered inputs are kept, gathered again, or as the plan says") {
  CHECK(refused("megatron", "tp=2,sp=1") == "");
  CHECK(refused("megatron", "tp=2,sp=1,sp_gather_again=0").find("gathered again in the backward") !=
        std::string::npos);
  CHECK(refused("megatron-bridge", "tp=2,sp=1,sp_gather_again=0") != "");
  CHECK(refused("neox", "tp=2,sp=1") == "");
  CHECK(refused("neox", "tp=2,sp=1,sp_gather_again=1").find("expected sp_gather_again=0") !=
        std::string::npos);
  CHECK(refused("colossalai", "tp=2,sp=1") == "");
  CHECK(refused("colossalai", "tp=2,sp=1,sp_gather_again=1") != "");
  for (const char* stack : {"nanotron", "internevo"})  // tp_recompute_allgather; modes fsp and msp
    for (const char* again : {"tp=2,sp=1,sp_gather_again=0", "tp=2,sp=1,sp_gather_again=1"})
      CHECK(refused(stack, again) == "");
}

TEST_CASE("Megatron-LM's Muon divides states by layers, and knows no FSDP") {
  CHECK(refused("megatron", "optimizer=muon") == "");
  CHECK(refused("megatron", "optimizer=muon,zero=1") == "");
  CHECK(refused("megatron-fsdp", "optimizer=muon,zero=3,overlap_grad_reduce=1") != "");
}

TEST_CASE("Megatron-LM offloads activations of one stage that are not run again") {
  CHECK(refused("megatron", "offload=1") == "");
  CHECK(refused("megatron", "pp=2,offload=1").find("expected pp=1") != std::string::npos);
  CHECK(refused("megatron", "recompute=full,offload=1").find("expected recompute=none") != std::string::npos);
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

TEST_CASE("stacks of another time have the rules of theirs") {
  CHECK(refused("deepspeed-megatron", "tp=4,pp=4,zero=1") == "");
  CHECK(refused("deepspeed-megatron", "pp=4,zero=2").find("incompatible with pipeline") != std::string::npos);
  CHECK(refused("deepspeed-megatron", "zero=2") == "");
  for (const char* later :
       {"pp=4,schedule=zbv", "pp=4,vpp=2", "tp=2,sp=1", "attention=flash", "cuda_graph=full", "precision=fp8",
        "recompute=selective", "recompute=full,recompute_layers=4"})
    CHECK(refused("deepspeed-megatron", later) != "");
  CHECK(refused("deepspeed-megatron", "optimizer=adamw_8bit") == "");  // no word of Megatron-LM's own flags
  CHECK(refused("deepspeed-zero3-2021", "zero=3") == "");
  CHECK(refused("deepspeed-zero3-2021", "zero=1") != "");
  CHECK(refused("deepspeed-zero3-2021", "zero=3,pp=2") != "");
}

TEST_CASE("what each framework has is told in its own words") {
  const auto says = [](const char* stack, const char* plan, std::string_view words) {
    return refused(stack, plan).find(words) != std::string::npos;
  };
  CHECK(says("internevo", "zero=3,pp=2", "FSDP goes neither with a pipeline"));
  CHECK(refused("internevo", "pp=2,zero=1,recompute=full,recompute_layers=4") ==
        "");  // model.checkpoint, a share
  CHECK(says("internevo", "tp=2,cp=2", "isp alone"));
  CHECK(says("colossalai", "pp=2,zero=2", "zero_stage must be 0 or 1"));
  CHECK(refused("colossalai", "zero=2,lora=8") == "");
  CHECK(says("maxtext", "pp=2", "expected schedule=gpipe"));
  CHECK(refused("maxtext", "pp=2,schedule=gpipe,zero=3") == "");
  CHECK(says("paxml", "zero=1", "expected zero=0|3"));
  CHECK(says("nemo-automodel", "pp=2", "expected zero=1..: FSDP2Manager"));
  CHECK(refused("nemo-automodel", "pp=2,zero=3") == "");
  CHECK(refused("fms-fsdp", "zero=3,recompute=full,recompute_layers=4") == "");  // a share of the blocks
  CHECK(says("fms-fsdp", "tp=2,zero=3", "data-parallel ranks alone"));
  CHECK(says("fsdp2", "tp=2", "expected zero=2|3: DistributedDataParallel"));
  CHECK(refused("fsdp2", "tp=2,zero=3") == "");  // with or without SequenceParallel
  CHECK(says("deepspeed", "tp=2,zero=3", "AutoTP"));
  CHECK(says("xtuner", "tp=2", "sequence_parallel_size"));
  CHECK(says("torchtune", "zero=0", "its distributed recipes call fully_shard"));
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
