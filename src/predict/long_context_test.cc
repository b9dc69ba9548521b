// Long and packed sequences: attention by what queries see, activations in the host's memory.
#include <doctest/doctest.h>

#include <cmath>

#include "predict/testing.h"

using namespace foretrain;

namespace {

Run run_at(std::int64_t seq, const std::string& plan, const std::string& documents = "",
           std::int64_t gpus = 8) {
  RunOptions options;
  options.model = "llama-3-8b";
  options.cluster = "dgx-h100";
  options.stack = "generic";
  options.gpus = gpus;
  options.seq = seq;
  options.global_batch = gpus;
  options.plan = plan;
  options.documents = documents;
  auto run = parse_run(nullptr, options, Catalog());
  CHECK_THAT(run.has_value());
  return *run;
}

double attention_seconds(const Run& run) {
  return predict(run).operators[static_cast<std::size_t>(OperatorKind::kAttention)].value;
}

}  // namespace

TEST_CASE("shorter documents are never slower, and all but attention takes what it took") {
  double before = attention_seconds(run_at(32768, "zero=3,recompute=full"));
  const double whole = before, step = predict(run_at(32768, "zero=3,recompute=full")).step.value;
  for (const char* documents : {"32768x1", "16384x2", "8192x4", "1024x32", "128x256"}) {
    const Run run = run_at(32768, "zero=3,recompute=full", documents);
    const double now = attention_seconds(run);
    CHECK(now <= before);
    before = now;
    CHECK(predict(run).step.value == doctest::Approx(step - (whole - now)).epsilon(0.01));
  }
}

TEST_CASE("attention's time follows the pairs of queries and keys") {
  // Two documents of half a sequence each have half of its pairs; four of a quarter have a quarter.
  const double whole = attention_seconds(run_at(131072, "zero=3"));
  CHECK(attention_seconds(run_at(131072, "zero=3", "65536x2")) == doctest::Approx(whole / 2).epsilon(0.01));
  CHECK(attention_seconds(run_at(131072, "zero=3", "32768x4")) == doctest::Approx(whole / 4).epsilon(0.01));
  CHECK(attention_seconds(run_at(131072, "zero=3", "131072x1")) == whole);
}

TEST_CASE("ranks wait for the one with the longest documents") {
  const double even = attention_seconds(run_at(32768, "zero=3", "8192x4"));
  CHECK(attention_seconds(run_at(32768, "zero=3,document_imbalance=1.5", "8192x4")) ==
        doctest::Approx(1.5 * even).epsilon(0.02));
  // Random ones differ from rank to rank, so that eight ranks are slower than one.
  const Run one = run_at(32768, "", "2048", 1), eight = run_at(32768, "", "2048", 8);
  CHECK(attention_seconds(eight) > 1.2 * attention_seconds(one));
  CHECK(one.assumed.back() == "documents: lengths exponential about 2048, cut to the sequence");
  CHECK(eight.assumed.back() == "document_imbalance=1.51: as random documents have it over 8 ranks");
}

TEST_CASE("a million tokens take a million times as many keys") {
  double before = 0;
  for (const std::int64_t seq : {65536, 131072, 262144, 524288, 1048576}) {
    const Run run = run_at(seq, "zero=3,recompute=full,loss=fused,mlp_chunks=16");
    const Prediction p = predict(run);
    CHECK(std::isfinite(p.step.value));
    CHECK(p.mfu > 0.1);
    CHECK(p.mfu < 1);
    CHECK(p.needed > Bytes(0));
    const double now = attention_seconds(run);
    if (before > 0) CHECK(now == doctest::Approx(4 * before).epsilon(0.01));
    before = now;
  }
}

TEST_CASE("a step with its activations offloaded lasts as long as their copies, where the link is slow") {
  Run run = run_at(32768, "zero=3,offload=1");
  const Prediction plain = predict(run_at(32768, "zero=3"));
  // Beside the passes of a fast link copies cost nothing.
  run.cluster.gpu.host = gigabytes_per_second(100'000);
  CHECK(predict(run).step.value == doctest::Approx(plain.step.value).epsilon(1e-9));
  CHECK(predict(run).needed < plain.needed);
  // All GPUs of a node at 2 GB/s together: an eighth each. Forward and backward each copy what a rank keeps in the
  // host's memory, of which a node has eight times as much.
  run.cluster.host = gigabytes_per_second(2);
  const Prediction slow = predict(run);
  CHECK(slow.host > Bytes(0));
  const Seconds copies = slow.host / 8 / gigabytes_per_second(0.25);
  CHECK(slow.stages[0].forward.value == doctest::Approx(copies.value));
  CHECK(slow.stages[0].backward.value == doctest::Approx(copies.value));
  CHECK(slow.step.value >= 2 * copies.value);
  // Half as fast, twice as long.
  run.cluster.host = gigabytes_per_second(1);
  CHECK(predict(run).stages[0].forward.value == doctest::Approx(2 * copies.value));
}

TEST_CASE("what the host keeps is what blocks would keep here") {
  // Of one micro-batch: 32 layers of 8 GPUs.
  const Run run = run_at(8192, "zero=3,offload=1,recompute=full");
  CHECK(predict(run).host == Bytes(8.0 * 32 * 2 * 8192 * 4096));
}

TEST_CASE("MFU counts neither the fullest rank's longer documents nor what tiles jut out") {
  const auto useful = [](const std::string& plan, const std::string& documents) {
    const Prediction p = predict(run_at(32768, plan, documents));
    return p.mfu * p.step.value;
  };
  // The same documents, however unequal the ranks: the same training.
  CHECK(useful("zero=3,document_imbalance=1.5", "8192x4") ==
        doctest::Approx(useful("zero=3,document_imbalance=1", "8192x4")));
  // Documents of 128 tokens fill their tiles of 128 x 128 to a half: 64.5 keys a query in the mean, where the kernel
  // works on 128. Attention's share of what is useful falls with the keys: of 16384.5 a query in one piece.
  const double whole = useful("zero=3", "32768x1"), packed = useful("zero=3", "128x256");
  const double pairs =
      32.0 * 32768 * 32768 / 2 * 4096 * 4 * 3 * 8;  // layers, pairs, heads x dims, products, passes, ranks
  const double rate = 8 * 989e12;
  CHECK((whole - packed) * rate == doctest::Approx(pairs * (1 - 128.0 / 32768)).epsilon(0.01));
}
