#include "samples/operator_tables.h"

#include <doctest/doctest.h>

using namespace foretrain;

namespace {

std::vector<CollectiveSample> samples_of(const std::string& text, const std::string& gpu) {
  auto imported = import_operator_tables({{"t.csv", text}});
  REQUIRE(imported);
  REQUIRE(imported->samples.contains(gpu));
  return imported->samples.at(gpu);
}

std::string error_of(const std::string& text) {
  const auto imported = import_operator_tables({{"t.csv", text}});
  return imported ? "" : imported.error().text();
}

}  // namespace

TEST_CASE("elements of NCCL's collectives have the bytes of their type") {
  const auto samples = samples_of(
      "gpu,op,dtype,gpus,elements,us,nccl\nh100-80gb-sxm,alltoall,half,8,1000,9.5,2.27\n"
      "h100-80gb-sxm,reduce_scatter,int8,4,1000,9.5,2.27\n",
      "h100-80gb-sxm");
  REQUIRE(samples.size() == 2);
  CHECK(samples[0].kind == CollectiveKind::kAllToAll);
  CHECK(samples[0].bytes == Bytes(2000));
  CHECK(samples[0].ranks == 8);
  CHECK(samples[0].ranks_per_node == 8);
  CHECK(samples[0].source == "nccl 2.27");
  CHECK(samples[1].kind == CollectiveKind::kReduceScatter);
  CHECK(samples[1].bytes == Bytes(1000));
}

TEST_CASE("a row of DeepEP's kernels is a dispatch in fp8 and a combine in bf16, notifications included") {
  const auto samples = samples_of(
      "gpu,device,nodes,hidden,tokens,top_k,experts,dispatch_sms,dispatch_us,dispatch_notify_us,combine_sms,"
      "combine_us,combine_notify_us,sglang\n"
      "gb200,NVIDIA GB200,2,4096,100,8,64,20,90,10,24,140,,0.5\n",
      "gb200");
  REQUIRE(samples.size() == 2);
  CHECK(samples[0].bytes == Bytes(100 * 8 * 4096));
  CHECK(samples[0].routing() == Routing{64, 8, Bytes(4096)});
  CHECK(samples[0].seconds == microseconds(100));
  CHECK(samples[0].ranks == 8);  // two nodes of four
  CHECK(samples[0].ranks_per_node == 4);
  CHECK(samples[0].sms == 20);
  CHECK(samples[1].kind == CollectiveKind::kCombine);
  CHECK(samples[1].bytes == Bytes(100 * 8 * 4096 * 2));
  CHECK(samples[1].seconds == microseconds(140));
  CHECK(samples[1].sms == 24);
}

TEST_CASE("GB/s of DeepEP's own table count a copy to each rank or node that holds any expert") {
  // 16 ranks, two nodes: 2 (1 - 128/256 * ... * 121/249) = 1.99302 nodes; 1000 rows of 4096 bytes with 32
  // scales of four bytes each at 40 GB/s.
  const auto samples = samples_of(
      "gpu,kernel,ep,tokens_per_rank,hidden,top_k,dtype,bottleneck,dispatch_GBps,combine_GBps,dispatch_us,"
      "combine_us,sms\nh800-80gb-sxm,v1 normal,16,1000,4096,8,fp8 dispatch bf16 combine,rdma,40,50,,,20\n",
      "h800-80gb-sxm");
  REQUIRE(samples.size() == 2);
  CHECK(samples[0].seconds.value * 1e6 ==
        doctest::Approx(1000 * (4096 + 32 * 4) * 1.99302 / 40e3).epsilon(1e-4));
  CHECK(samples[1].seconds.value * 1e6 == doctest::Approx(1000 * 4096 * 2 * 1.99302 / 50e3).epsilon(1e-4));
}

TEST_CASE("columns stand in any order, and a header that is none of these is refused") {
  CHECK(samples_of("us,nccl,gpu,op,dtype,gpus,elements\n9,2.27,b200,all_reduce,int8,2,8\n", "b200").size() ==
        1);
  CHECK(error_of("us,nccl,gpu,op,dtype,gpus\n9,2.27,b200,all_reduce,int8,2\n")
            .starts_with("t.csv:1:1: error: found no header of a table of exchanges"));
  CHECK(error_of("").starts_with("t.csv:1:1: error: found no header"));
  CHECK(error_of("gpu,op,dtype,gpus,elements,us,nccl\nb200,all_reduce,int8,9,8,1,2\n")
            .starts_with("t.csv:2:22: error: gpus: found '9'"));
}
