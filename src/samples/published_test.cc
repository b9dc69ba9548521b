#include "samples/published.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/file.h"
#include "operators/operator_text.h"

using namespace foretrain;

namespace {

// A site's folder with made-up times.
struct Site {
  std::string path = "/tmp/foretrain-published-XXXXXX";
  Site() {
    REQUIRE(mkdtemp(path.data()) != nullptr);
    std::filesystem::create_directory(path + "/operator");
  }
  ~Site() { std::filesystem::remove_all(path); }
  void write(const std::string& name, const std::string& text) const {
    REQUIRE(write_file(path + "/operator/NVIDIAX1_" + name + "_fp16.csv", text));
  }
  // The words of each sample of one table.
  std::vector<std::string> import() const {
    const auto imported = published_sources(disk(), path).and_then(import_published_samples);
    REQUIRE_MESSAGE(imported.has_value(), (imported ? "" : imported.error().text()));
    std::vector<std::string> words;
    for (const Sample& s : imported->samples)
      words.push_back(operator_label(s.op) + ": " + sizes_text(s.op) + " " + s.group);
    return words;
  }
  std::string only(const std::string& name, const std::string& text) const {
    std::filesystem::remove_all(path + "/operator");
    std::filesystem::create_directory(path + "/operator");
    write(name, text);
    const auto words = import();
    REQUIRE(!words.empty());
    return words.front();
  }
};

constexpr const char* kRow = "mp,b,l,dim,F_dur(us),B_dur(us)\n2.0,4.0,1024.0,2048.0,10.0,20.0\n";
constexpr const char* kHeads = "mp,b,h,l,dim,F_dur(us),B_dur(us)\n2.0,4.0,16.0,1024.0,2048.0,10.0,20.0\n";

}  // namespace

TEST_CASE("the five linears are one operator; a row gives both passes") {
  const Site site;
  site.write("linear1", kRow);
  CHECK(site.import() ==
        std::vector<std::string>{"linear aten fwd fp16: m=4096 k=2048 n=3072 hidden=2048",
                                 "linear zero-grad bwd fp16: m=4096 k=2048 n=3072 hidden=2048"});
  CHECK(site.only("linear2", kRow) == "linear aten fwd fp16: m=4096 k=1024 n=2048 hidden=2048");
  CHECK(site.only("linear3", kRow) == "linear aten fwd fp16: m=4096 k=2048 n=4096 hidden=2048");
  CHECK(site.only("linear4", kRow) == "linear aten fwd fp16: m=4096 k=4096 n=2048 hidden=2048");
  // 50257 padded to a multiple of 2 x 128 is 50432, half of it a rank.
  CHECK(site.only("linear_final", kRow) == "linear aten fwd fp16: m=4096 k=2048 n=25216 hidden=2048");
}

TEST_CASE("chains of kernels say how many they are") {
  const Site site;
  site.write("RMSlayernorm", "b,l,dim,F_dur(us),B_dur(us)\n2.0,1024.0,512.0,1.0,2.0\n");
  const auto imported = published_sources(disk(), site.path).and_then(import_published_samples);
  REQUIRE(imported);
  CHECK(imported->samples[0].op.launches == 5);
  CHECK(imported->samples[1].op.launches == 17);
}

TEST_CASE("attention's parts") {
  const Site site;
  CHECK(site.only("baddbmm", kHeads) ==
        "batched_product aten fwd fp16: batch=32 m=1024 k=128 n=1024 hidden=2048");
  CHECK(site.only("bmm", kHeads) ==
        "batched_product aten fwd fp16: batch=32 m=1024 k=1024 n=128 hidden=2048");
  CHECK(site.only("flash_atten", kHeads) ==
        "attention flash fwd fp16: batch=4 heads=8 kv_heads=8 seq=1024 head_dim=128 causal=0 hidden=2048");
  CHECK(site.only("fillmask", kHeads) == "masked_fill aten fwd fp16: tokens=32768 width=1024 hidden=2048");
  CHECK(site.only("RoPE", kHeads) == "rope aten fwd fp16: tokens=4096 width=2048 hidden=2048");
  const std::string rows = "mp,b,h,l,F_dur(us),B_dur(us)\n1,2.0,2.0,1024.0,16.0,13.0\n";
  CHECK(site.only("softmax", rows) == "softmax aten fwd fp16: rows=4096 columns=1024 ");
  CHECK(site.only("ScaledUpperTriangMaskedSoftmax", rows) ==
        "softmax fused fwd fp16: rows=4096 columns=1024 ");
}

TEST_CASE("pointwise operators, embedding and loss") {
  const Site site;
  const std::string local = "b,l,dim,F_dur(us),B_dur(us)\n2.0,1024.0,512.0,1.0,2.0\n";
  CHECK(site.only("layernorm", local) == "layernorm fused fwd fp16: tokens=2048 width=512 hidden=512");
  CHECK(site.only("RMSlayernorm", local) == "rmsnorm fp32-scale fwd fp16: tokens=2048 width=512 hidden=512");
  CHECK(site.only("res_add", local) == "add aten fwd fp16: tokens=2048 width=512 hidden=512");
  CHECK(site.only("gelu", kRow) == "gelu fused fwd fp16: tokens=4096 width=4096 hidden=2048");
  CHECK(site.only("embedding", kRow) ==
        "embedding aten fwd fp16: tokens=4096 width=2048 vocab=25216 hidden=2048");
  CHECK(site.only("parallel_cross_entropy_128", "mp,b,l,F_dur(us),B_dur(us)\n1.0,2.0,2816.0,9.0,3.0\n") ==
        "cross_entropy eager fwd fp16: tokens=5632 vocab=50304 ");
}

TEST_CASE("optimizers count the parameters and tensors of NeoX's blocks") {
  const Site site;
  // One layer of hidden 256 without tp: 12 x 256^2 + 13 x 256 = 789,760 parameters in 12 tensors. Two layers,
  // embedding, norm and head over 50,304 words come to 27,335,680 in 28, as the published table says.
  const std::string stage = "mp,dim,encoders,dur(us)\n1.0,256.0,2.0,17.0\n";
  CHECK(site.only("middleStage_optimizer", stage) ==
        "adamw fused step fp16: parameters=1579520 tensors=24 hidden=256");
  CHECK(site.only("firstStage_optimizer", stage) ==
        "adamw fused step fp16: parameters=14457344 tensors=25 hidden=256");
  CHECK(site.only("lastStage_optimizer", stage) ==
        "adamw fused step fp16: parameters=14457856 tensors=27 hidden=256");
  CHECK(1579520 + 2 * 50304 * 256 + 2 * 256 == 27335680);
  CHECK(site.only("optimizer",
                  "num_layers,hidden_size,param_tensors,params,dur\n2.0,256.0,28.0,27335680.0,9731.2\n") ==
        "adamw eager step fp16: parameters=27335680 tensors=28 hidden=256");
}

TEST_CASE("rows whose sizes are not whole are skipped and counted, other files ignored and named") {
  const Site site;
  site.write("flash_atten", std::string(kHeads) + "16.0,4.0,24.0,1024.0,3072.0,1.0,2.0\n");
  site.write("mystery", kRow);
  const auto imported = published_sources(disk(), site.path).and_then(import_published_samples);
  REQUIRE(imported);
  REQUIRE(imported->files.size() == 1);
  CHECK(imported->files[0].rows == 2);
  CHECK(imported->files[0].samples == 2);
  CHECK(imported->files[0].skipped == 1);
  CHECK(imported->ignored == std::vector<std::string>{"NVIDIAX1_mystery_fp16.csv"});
  CHECK(import_text(*imported) ==
        "NVIDIAX1_flash_atten_fp16.csv       2 rows       2 samples  1 skipped: sizes not whole\n"
        "2 samples, 1 tables\n"
        "ignored: NVIDIAX1_mystery_fp16.csv\n");
}

TEST_CASE("bad tables are refused with their place") {
  const Site site;
  const auto error_of = [&](const std::string& text) {
    site.write("gelu", text);
    const auto imported = published_sources(disk(), site.path).and_then(import_published_samples);
    return imported ? "" : imported.error().text();
  };
  const std::string file = site.path + "/operator/NVIDIAX1_gelu_fp16.csv";
  CHECK(error_of("mp,b,l,F_dur(us),B_dur(us)\n") ==
        file + ":1:1: error: found no column 'dim', expected mp b l dim and times");
  CHECK(error_of("mp,b,l,dim\n") ==
        file + ":1:1: error: found no times, expected columns 'F_dur(us)' and 'B_dur(us)'");
  CHECK(error_of("mp,b,l,dim,F_dur(us),B_dur(us)\n1,1,1,8,5,nan\n") ==
        file + ":2:11: error: B_dur(us): found 'nan', expected a number above 0");
  CHECK(published_sources(disk(), site.path + "/operator").error().message ==
        "found no folder 'operator', expected the samples of one site");
  CHECK(published_sources(disk(), site.path + "/none").error().message == "found no such folder");
}
