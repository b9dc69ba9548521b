#include "job/parse_run.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "job/run_check.h"
#include "job/run_text_testing.h"

using namespace foretrain;

TEST_CASE("dp and seq follow from the rest of a run") {
  const auto run = run_of(kSpecs + kRest + "plan: {tp: 4, pp: 4, micro_batch: 4}\n");
  REQUIRE_MESSAGE(run.has_value(), error_of(run));
  CHECK(run->plan.dp == 8);
  CHECK(run->micro_batches() == 32);
  CHECK(run->seq == 2048);
  CHECK(run->assumed == std::vector<std::string>{"seq: 2048 (the model's own)"});
}

TEST_CASE("where nobody states a stack the generic one is taken, and said") {
  const auto run = run_of(kModel + kCluster + kRest + "seq: 1024\n");
  REQUIRE_MESSAGE(run.has_value(), error_of(run));
  CHECK(run->stack.name == "generic");
  CHECK(run->assumed == std::vector<std::string>{"stack: generic (none stated)"});
}

TEST_CASE("options override the run file") {
  RunOptions options;
  options.gpus = 64;
  options.seq = 1024;
  options.global_batch = 256;
  options.plan = "pp=2";
  options.model = "gpt2";
  const auto run = run_of(kSpecs + kRest + "plan: {pp: 4, micro_batch: 2}\n", options);
  CHECK(error_of(run) == "no error");
  REQUIRE(run.has_value());
  CHECK(run->model.name == "gpt2");
  CHECK(run->plan.pp == 2);
  CHECK(run->plan.micro_batch == 2);
  CHECK(run->plan.dp == 32);
  CHECK(run->seq == 1024);
  CHECK(run->assumed == std::vector<std::string>{"dropout left out: stack small has none"});  // gpt2's 0.1
}

TEST_CASE("what a run needs and nobody gives is named with both ways to give it") {
  const auto bare = [](const RunOptions& options) {
    return error_of(parse_run(nullptr, options, Catalog()));
  };
  RunOptions options;
  CHECK(bare(options) == "foretrain: error: no model: give model or 'model:' in the run file");
  options.model = "gpt2";
  CHECK(bare(options) == "foretrain: error: no cluster: give cluster or 'cluster:' in the run file");
  CHECK(error_of(run_of("gpus: 8\n")) ==
        "run.yaml:1:1: error: no model: give model or 'model:' in the run file");
  CHECK(error_of(run_of(kSpecs)) == "run.yaml:1:1: error: no gpus: give gpus or 'gpus:' in the run file");
  CHECK(error_of(run_of(kSpecs + "gpus: 8\n")) ==
        "run.yaml:1:1: error: no global_batch: give global_batch or 'global_batch:' in the run file");
  CHECK(error_of(run_of(replaced(kSpecs, ", seq: 2048", "") + kRest)) ==
        "run.yaml:1:1: error: no seq: give seq or 'seq:' in the run file");
}

TEST_CASE("an option's error names the option") {
  RunOptions options;
  options.model = "gpt2-xll";
  CHECK(error_of(run_of(kSpecs + kRest, options)) ==
        "foretrain: error: model: unknown model 'gpt2-xll'; did you mean 'gpt2-xl'?");
  options = {};
  options.gpus = -1;
  CHECK(error_of(run_of(kSpecs + kRest, options)).starts_with("foretrain: error: gpus: "));
  CHECK(error_of_plan("tpp=2") == "foretrain: error: plan: unknown key 'tpp'; did you mean 'tp'?");
}

TEST_CASE("a broken rule is laid at the door of the option that states the plan or its counts") {
  const std::string file = "plan: {tp: 4, pp: 4, micro_batch: 4}\n" + kSpecs + kRest;
  const auto line =
      1 + std::count(file.begin(), file.begin() + static_cast<int>(file.find("gpus: 128")), '\n');
  CHECK(error_of(run_of(replaced(file, "tp: 4", "tp: 3")))
            .starts_with("run.yaml:" + std::to_string(line) + ":7: error: gpus 128 is not"));
  RunOptions options;
  options.plan = "micro_batch=3";
  CHECK(error_of(run_of(file, options)) ==
        "foretrain: error: plan: global_batch 1024 is not a multiple of dp*micro_batch = 8*3 = 24");
  options = {};
  options.gpus = 100;
  CHECK(error_of(run_of(file, options)) == "foretrain: error: gpus 100 is not a multiple of tp*pp*cp = 16");
  options = {};
  options.global_batch = 63;
  CHECK(error_of(run_of(file, options)) ==
        "foretrain: error: global_batch 63 is not a multiple of dp*micro_batch = 8*4 = 32");
  options = {};
  options.seq = 1'000'000'000;
  CHECK(error_of(run_of(file, options)).starts_with("foretrain: error: seq: "));
}

TEST_CASE("the profile is the option's word, else the file's, and is not looked up here") {
  const std::string file = "profile: h200\n" + kSpecs + kRest;
  CHECK(run_of(file)->profile == "h200");
  RunOptions options;
  options.profile = "analytic";
  CHECK(run_of(file, options)->profile == "analytic");
  CHECK(run_of(kSpecs + kRest)->profile.empty());
}

TEST_CASE("a run is read whatever its plan, and checked only where it is parsed") {
  const std::string yaml = kSpecs + kRest + "plan: {tp: 3}\n";
  CHECK(error_of(run_of(yaml)) != "");
  const auto node = parse_yaml(yaml, "run.yaml");
  REQUIRE(node.has_value());
  const auto read = read_run(&*node, {}, Catalog());
  REQUIRE(read.has_value());
  CHECK(read->plan.tp == 3);
  CHECK(read->gpus == 128);
  CHECK(read->plan.dp == 0);  // follows from the check
}

TEST_CASE("a wrong run file is refused with its place") {
  CHECK(error_of(run_of("modle: gpt2\n")) ==
        "run.yaml:1:1: error: unknown key 'modle'; did you mean 'model'?");
  CHECK(error_of(run_of("- model\n")) == "run.yaml:1:1: error: expected a map that describes a run");
  CHECK(error_of(run_of("model: gpt2\nmodel: gpt2\n"))
            .starts_with("run.yaml:2:1: error: duplicate key 'model'"));
  CHECK(error_of(run_of("gpus: 10000001\n" + kSpecs)).starts_with("run.yaml:1:7: error: gpus: "));
  CHECK(error_of(run_of("plan: {tp: 3}\n" + kSpecs + "gpus: 3\nglobal_batch: 8\n")) ==
        "run.yaml:1:12: error: tp 3 does not divide heads 64");
}

TEST_CASE("what a run rests on without saying so is told once") {
  using Lines = std::vector<std::string>;
  const auto assumed = [](const std::string& yaml, const RunOptions& options) {
    auto run = run_of(yaml + "seq: 2048\n", options);
    REQUIRE_MESSAGE(run.has_value(), error_of(run));
    CHECK(check_run(*run).has_value());  // again
    return run->assumed;
  };
  RunOptions options;
  CHECK(assumed(kSpecs + kRest, options) == Lines{});

  const std::string guessed = replaced(kSpecs, "latency_us: 6}", "latency_us: 6, assumed: true}");
  CHECK(assumed(guessed + kRest, options) == Lines{"inter-node links of inline: assumed"});
  CHECK(assumed(guessed + "gpus: 4\nglobal_batch: 8\n", options) == Lines{});  // one node

  const std::string dropping = replaced(kSpecs, "vocab: 50432", "vocab: 50432, dropout: 0.1");
  CHECK(assumed(dropping + kRest, options) == Lines{"dropout left out: stack small has none"});
  options.stack = "neox";
  CHECK(assumed(dropping + kRest, options) == Lines{});
  options.stack = "megatron";
  options.plan = "recompute=selective";
  CHECK(assumed(kSpecs + kRest, options) ==
        Lines{"recompute=selective repeats nothing with flash attention"});
  options.plan += ",attention=unfused";
  CHECK(assumed(kSpecs + kRest, options) == Lines{});
}

TEST_CASE("what a training stops for is read with its length") {
  const auto run = run_of(kSpecs + kRest +
                          "seq: 2048\npauses: {checkpoint: {every: 1000, seconds: 40}, evaluation: {every: "
                          "500, seconds: 9.5}}\n");
  REQUIRE_MESSAGE(run.has_value(), error_of(run));
  REQUIRE(run->pauses.size() == 2);
  CHECK(run->pauses[0] == Pause{"checkpoint", 1000, Seconds(40)});
  CHECK(run->pauses[1] == Pause{"evaluation", 500, Seconds(9.5)});
  CHECK(error_of(run_of(kSpecs + kRest + "seq: 2048\npauses: {checkpoint: {seconds: 40}}\n"))
            .find("missing key 'every'") != std::string::npos);
}

TEST_CASE("a batch counted in tokens is a whole number of sequences") {
  CHECK(batch_tokens("4Mtok") == 4'000'000);
  CHECK(batch_tokens("128ktok") == 131'072);
  CHECK_FALSE(batch_tokens("512").has_value());
  CHECK_FALSE(batch_tokens("tok").has_value());
  CHECK_FALSE(batch_tokens("-1tok").has_value());
  CHECK(sequences_of(4'194'304, 2048).value() == 2048);
  CHECK(error_of(sequences_of(4'000'000, 4096)) ==
        "foretrain: error: found 4000000 tokens, expected a multiple of seq 4096, such as 4001792 (977 "
        "sequences)");
  // The model's own 2048 tokens: 2^20 of them are 512 sequences, in a file and as an option.
  const std::string gpus = "gpus: 128\n";
  CHECK(run_of(kSpecs + gpus + "global_batch: 1024ktok\n").value().global_batch == 512);
  RunOptions options;
  options.global_batch_tokens = 1'048'576;
  CHECK(run_of(kSpecs + kRest, options).value().global_batch == 512);
  CHECK(error_of(run_of(kSpecs + gpus + "global_batch: 1Mtok\n")).find("run.yaml:") == 0);
}
