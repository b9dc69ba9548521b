#include "samples/operator_tables.h"

#include <doctest/doctest.h>

#include "operators/attention.h"
#include "operators/product.h"
#include "operators/quantise.h"

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
            .starts_with("t.csv:1:1: error: found no header of a table that we know"));
  CHECK(error_of("").starts_with("t.csv:1:1: error: found no header"));
  CHECK(error_of("gpu,op,dtype,gpus,elements,us,nccl\nb200,all_reduce,int8,9,8,1,2\n")
            .starts_with("t.csv:2:22: error: gpus: found '9'"));
}

namespace {

std::vector<Sample> operators_of(const std::string& text, const std::string& gpu) {
  auto imported = import_operator_tables({{"t.csv", text}});
  REQUIRE(imported);
  REQUIRE(imported->operators.contains(gpu));
  return imported->operators.at(gpu);
}

const std::string kGemm = "gpu,dtype,m,n,k,us,kernel,framework,version\n";
const std::string kSimumaxHeader =
    "gpu,op,batch_or_groups,m_or_seq,n_or_heads,k_or_dims,detail,efficiency,peak_tflops,us\n";

}  // namespace

namespace {

// A library whose casts take 1 us and 1 us for a million elements, and as long again to find the scale: 5 us of each for
// 1000 x 4000 activations. Every other one is `off` slower, every other faster.
std::string casts_of(const std::string& library, double off) {
  std::string casts;
  for (int millions = 1; millions <= 8; ++millions)
    for (const char* op : {"scale_matrix", "compute_scale"})
      casts += "gb200," + std::string(op) + ",fp8," + std::to_string(1000 * millions) + ",1000," +
               std::to_string((1 + millions) * (1 + (millions % 2 == 0 ? off : -off))) + ",x," + library +
               ",1\n";
  return casts;
}
const std::string kCasts = "gpu,op,dtype,m,k,us,kernel,framework,version\n";

struct Freed {
  CastsTaken left_out;
  std::vector<double> us;
};
Freed freed(const std::string& casts, const std::string& products) {
  const auto imported = import_operator_tables({{"c.csv", kCasts + casts}, {"t.csv", kGemm + products}});
  REQUIRE(imported);
  Freed found{imported->casts_taken, {}};
  for (const Sample& sample : imported->operators.at("gb200"))
    if (sample.op.kind == OperatorKind::kLinear && is_scaled(sample.op.dtype)) found.us.push_back(sample.us);
  return found;
}

}  // namespace

TEST_CASE("a product of a burst is a forward whose loop was nine runs long") {
  const auto samples = operators_of(kGemm + "gb200,bfloat16,1024,2048,4096,100,x,vllm,1\n", "gb200");
  REQUIRE(samples.size() == 1);
  CHECK(samples[0].op == linear({.m = 1024, .k = 4096, .n = 2048}));
  CHECK(*samples[0].loop_s == doctest::Approx(900e-6));
  CHECK(samples[0].group == "vllm");
}

TEST_CASE(
    "fp8_block by kernels that apply scales of powers of two is mxfp8; what no graph launched is left out") {
  const auto imported = import_operator_tables(
      {{"c.csv", kCasts + casts_of("trtllm", 0) + casts_of("vllm", 0)},
       {"t.csv", kGemm + "gb200,fp8_block,1000,1000,4000,30,deepgemm,trtllm,1\n"
                         "gb200,fp8_block,1000,2000,4000,30,torch_flow,trtllm,1\n"
                         "gb200,fp8_block,1000,1000,4000,30,DeepGemmFp8BlockScaledMMKernel,vllm,1\n"}});
  REQUIRE(imported);
  CHECK(imported->tables[1].rejected.at("launched one by one") == 1);
  std::vector<Dtype> formats;
  for (const Sample& sample : imported->operators.at("gb200"))
    if (sample.op.kind == OperatorKind::kLinear) formats.push_back(sample.op.dtype);
  CHECK(formats == std::vector{Dtype::kMxfp8, Dtype::kFp8Block});
}

TEST_CASE("of two libraries' times of a shape that differ by over a quarter the faster counts") {
  // 124 us stay beside 100, 126 do not.
  const std::string rows =
      "gb200,bfloat16,8,8,8,100,x,vllm,1\ngb200,bfloat16,8,8,8,124,x,trtllm,1\n"
      "gb200,bfloat16,8,8,16,100,x,vllm,1\ngb200,bfloat16,8,8,16,126,x,trtllm,1\n";
  CHECK(operators_of(kGemm + rows, "gb200").size() == 3);
}

TEST_CASE("loops that are neither bursts nor have settled are left out") {
  // Nine runs of 6 ms; a hundred of 0.2 ms after others (2 * 1000 * 1000 * 100 / 1e12 / 1 = 0.2 ms).
  CHECK_FALSE(import_operator_tables({{"t.csv", kGemm + "gb200,bfloat16,8,8,8,6000,x,vllm,1\n"}}));
  CHECK_FALSE(
      import_operator_tables({{"t.csv", kSimumaxHeader + "gb200,matmul,1,1000,1000,100,TN bf16,1,1,200\n"}}));
}

TEST_CASE("SimuMax's layouts are the three passes of one linear") {
  // y[m=2000, n=3000] of depth 500: its forward, m x k of depth n, and n x k of depth m.
  const auto samples = operators_of(kSimumaxHeader +
                                        "b200,matmul,1,2000,3000,500,TN bf16,0.5,2,6000\n"
                                        "b200,matmul,1,2000,500,3000,NN bf16,0.5,2,6000\n"
                                        "b200,matmul,1,3000,500,2000,NT acc fp32,0.5,2,6000\n",
                                    "b200");
  REQUIRE(samples.size() == 3);
  const LinearSizes sizes{.m = 2000, .k = 500, .n = 3000};
  for (const Sample& sample : samples) {
    CHECK(sample.op.as<LinearSizes>() == sizes);
    CHECK(sample.us == doctest::Approx(6000));  // 6 GFLOP at half of 2 TFLOP/s
    CHECK(*sample.loop_s == doctest::Approx(0.6));
  }
  CHECK(samples[1].op.pass == PassKind::kInput);
  CHECK(samples[2].op.pass == PassKind::kWeight);
}

TEST_CASE("SimuMax counts the whole square of causal attention, five products of it backward") {
  // Two products of 100 x 100 scores, 4 heads, widths of 32 + 16: 2 * 1e4 * 4 * 48 = 3.84 MFLOP at 1 TFLOP/s.
  const auto samples = operators_of(kSimumaxHeader +
                                        "b200,sdp_fwd,1,100,4,32/16,kv 4,1,1,\n"
                                        "b200,sdp_bwd,1,100,4,32/32,kv 2 contiguous,0.5,1,\n",
                                    "b200");
  REQUIRE(samples.size() == 2);
  CHECK(samples[0].op.kind == OperatorKind::kLatentAttention);
  CHECK(samples[0].us == doctest::Approx(3.84));
  CHECK(samples[1].op.as<AttentionSizes>().kv_heads == 2);
  CHECK(samples[1].op.pass == PassKind::kBackward);
  CHECK(samples[1].us == doctest::Approx(2 * 5 * 1e4 * 4 * 64 * 1e-6));
  const auto wrong =
      import_operator_tables({{"t.csv", kSimumaxHeader + "b200,sdp_fwd,1,100,4,32,kv 4,1,1,\n"}});
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().text().starts_with("t.csv:2:22: error: k_or_dims: found '32', expected widths"));
}

TEST_CASE("SimuMax's grouped products are one a group, launched each") {
  const auto samples = operators_of(kSimumaxHeader +
                                        "b200,group_matmul,4,100,200,300,bwd_grad_w,0.04,1,\n"
                                        "b200,group_matmul,4,100,200,300,fwd,2,1,\n",
                                    "b200");
  REQUIRE(samples.size() == 1);  // the second takes 6 us a product: the host's launches
  CHECK(samples[0].op.as<GroupedSizes>() == GroupedSizes{.experts = 4, .m = 400, .k = 300, .n = 200});
  CHECK(samples[0].op.launches == 4);
  CHECK(samples[0].us == doctest::Approx(25 * 2 * 400 * 300 * 200 * 1e-6));
}

TEST_CASE("products in low precision are freed of the casts that were timed with them") {
  const Freed found =
      freed(casts_of("vllm", 0),
            "gb200,fp8,1000,1000,4000,30,x,vllm,1\ngb200,fp8_block,1000,1000,4000,30,x,vllm,1\n"
            "gb200,fp8,1000,2000,4000,9,x,vllm,1\ngb200,fp8,1000,1000,8000,30,x,trtllm,1\n");
  CHECK(found.left_out.mostly_cast == 2);  // 10 of 9 us; a library whose casts nobody timed
  REQUIRE(found.us.size() == 2);
  CHECK(found.us[0] == doctest::Approx(20));
  CHECK(found.us[1] == doctest::Approx(25));
}

TEST_CASE("a remainder counts as long as the casts' own scatter is less than a quarter of it") {
  // Both casts are off by a tenth in the mean: of 5 us each, sqrt(2) * 0.5 = 0.71 us, a quarter of 2.8 us.
  const Freed found = freed(casts_of("vllm", 0.1),
                            "gb200,fp8,1000,1000,4000,13.5,x,vllm,1\ngb200,fp8,1000,2000,4000,12,x,vllm,1\n");
  CHECK(found.left_out.mostly_cast == 1);
  REQUIRE(found.us.size() == 1);
  CHECK(found.us[0] == doctest::Approx(3.5).epsilon(0.1));
}

TEST_CASE("a product in fewer bits is no slower than in bf16, and the fastest library's counts") {
  // 10 us of cast: remainders of 20 and 22 us of one shape, of 21 us where bf16 takes 20.
  const Freed found =
      freed(casts_of("vllm", 0) + casts_of("trtllm", 0),
            "gb200,fp8,1000,1000,4000,30,x,vllm,1\ngb200,fp8,1000,1000,4000,32,x,trtllm,1\n"
            "gb200,bfloat16,1000,1000,4000,40,x,vllm,1\n"
            "gb200,fp8,1000,500,4000,31,x,vllm,1\ngb200,bfloat16,1000,500,4000,20,x,vllm,1\n");
  CHECK(found.left_out.above_bf16 == 1);
  CHECK(found.left_out.slower == 1);
  REQUIRE(found.us.size() == 1);
  CHECK(found.us[0] == doctest::Approx(20));
}

TEST_CASE("published casts are a library's own kernels, of one copy") {
  const auto imported = import_operator_tables({{"c.csv", kCasts + casts_of("vllm", 0)}});
  REQUIRE(imported);
  const std::vector<Sample>& casts = imported->operators.at("gb200");
  REQUIRE(casts.size() == 8);  // none that finds a scale
  CHECK(casts[0].op ==
        quantise({.tokens = 1000, .width = 1000, .copies = 1}, {.impl = Impl::kAten, .dtype = Dtype::kFp8}));
}
