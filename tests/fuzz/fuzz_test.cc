// fuzz_test CASES [FIRST]: feeds wrong and extreme text to everything that reads text, CASES times, and holds
// that each is either refused in one line or answered with finite figures, soon. The n-th case is the same
// every time: where one fails, its number and text are printed, and `fuzz_test 1 N` repeats it alone.
#include <fmt/format.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "ask/over.h"
#include "base/file.h"
#include "base/gzip.h"
#include "base/plain_yaml.h"
#include "base/text.h"
#include "cost/profile_store.h"
#include "formats/foreign_model.h"
#include "formats/foreign_run.h"
#include "job/parse_run.h"
#include "job/run_check.h"
#include "mutate.h"
#include "one_line.h"
#include "predict/evaluator.h"
#include "report/chart.h"
#include "report/kineto_report.h"
#include "report/log_report.h"
#include "report/over_report.h"
#include "report/path_report.h"
#include "report/predict_html.h"
#include "report/predict_report.h"
#include "report/search_report.h"
#include "report/trace_json.h"
#include "report/validate_report.h"
#include "samples/clean.h"
#include "samples/collective_clean.h"
#include "samples/nccl_tests.h"
#include "samples/operator_tables.h"
#include "samples/topo.h"
#include "search/nearest.h"
#include "spec/catalog.h"
#include "spec/embedded.h"
#include "spec/gpu_text.h"
#include "spec/model_text.h"
#include "spec/plan_text.h"
#include "spec/recipe_text.h"
#include "spec/run.h"
#include "validate/example_table.h"

namespace foretrain {
namespace {

constexpr int kMostSeconds = 20;  // of the processor, a case, under sanitizers

constexpr std::int64_t kMostEventsViewed = 20'000;

// What is being tried, for whoever has to repeat it.
std::string current;

[[noreturn]] void fail_case(std::string_view why) {
  std::fprintf(stderr, "%.*s\n%s\n", static_cast<int>(why.size()), why.data(), current.c_str());
  std::_Exit(1);
}

// For handlers of signals: nothing but write().
void tell(std::string_view text) {
  if (::write(2, text.data(), text.size()) < 0) ::_exit(1);
}

void on_signal(int number) {
  tell(number == SIGPROF ? "takes too long: " : "crashes: ");
  tell(current);
  ::_exit(1);
}

// From now on; time of the processor, for the machine may be busy with other things.
void limit_seconds() {
  const itimerval limit{.it_interval = {}, .it_value = {kMostSeconds, 0}};
  if (::setitimer(ITIMER_PROF, &limit, nullptr) != 0) fail_case("cannot limit the time");
}

void expect(bool fact, std::string_view what) {
  if (!fact) fail_case(fmt::format("expected: {}", what));
}

void expect_one_line(const Error& error) {
  const std::string fault = fault_of(error);
  expect(fault.empty(), fault);
}

void expect_positive(double value, std::string_view what) {
  expect(std::isfinite(value) && value > 0, fmt::format("{} is finite and above 0, found {}", what, value));
}
void expect_not_negative(double value, std::string_view what) {
  expect(std::isfinite(value) && value >= 0,
         fmt::format("{} is finite and not below 0, found {}", what, value));
}

void expect_sound(const Prediction& p) {
  expect_positive(p.step.value, "step");
  expect_not_negative(p.step.spread, "spread");
  expect_positive(p.step.low(), "low");
  expect_positive(p.step.high(), "high");
  expect_positive(p.typical.value, "typical");
  expect_positive(p.tokens_per_s_per_gpu, "tokens_per_s_per_gpu");
  expect_positive(p.mfu, "mfu");
  expect(p.mfu <= 1, fmt::format("mfu is at most 1, found {}", p.mfu));
  expect_positive(p.peak.value, "peak");
  expect_not_negative(p.fit_probability, "fit_probability");
  expect(p.fit_probability <= 1, "fit_probability is at most 1");
  double sum = 0;
  for (const Seconds seconds : p.breakdown) {
    expect_not_negative(seconds.value + 1e-6 * p.step.value, "a share of the breakdown");
    sum += seconds.value;
  }
  expect(std::abs(sum - p.step.value) <= 1e-6 * p.step.value,
         fmt::format("the causes sum to the step, found {} and {}", sum, p.step.value));
  for (const Seconds seconds : p.operators) expect_not_negative(seconds.value, "seconds of an operator");
  for (const double share : p.origin_shares) expect_not_negative(share, "share of an origin");
  for (const StagePrediction& stage : p.stages) {
    expect_not_negative(stage.forward.value, "forward");
    expect_not_negative(stage.backward.value, "backward");
    expect_not_negative(stage.memory.total.value, "memory of a stage");
    expect_not_negative(static_cast<double>(stage.parameters), "parameters of a stage");
  }
}

// Every view of the step; path and stages' times sum to it.
void expect_views(const Run& run) {
  StepTrace trace;
  const Prediction prediction = predict_or_nearest(run, nullptr, &trace);
  const StepView view(std::move(trace));
  const double step = prediction.step.value;
  double path = 0;
  for (const Seconds seconds : view.path.by_cause) path += seconds.value;
  expect(std::abs(path - step) <= 1e-6 * step,
         fmt::format("the critical path is as long as the step, found {} and {}", path, step));
  for (const RankTime& t : view.times) {
    const Seconds sum = t.passes + t.messages + t.wait_activation + t.wait_gradient + t.reduce + t.exchange +
                        t.wait_stages + t.optimizer + t.gather;
    expect(std::abs(sum.value - step) <= 1e-6 * step, "a stage's times sum to the step");
  }
  expect(chart_text(view, {}).find("stage 1 ") != std::string::npos, "a chart");
  expect(!path_text(view, prediction).empty(), "a path");
  for (const std::string& text :
       {trace_json(run, view, cut_trace(view.trace)), predict_html(run, prediction, view),
        predict_json(run, prediction, nullptr, &view)})
    for (const char* nothing : {":nan", ": nan", "=\"nan", ">nan<", ">nan ", ":inf", ": inf", "=\"inf"})
      expect(text.find(nothing) == std::string::npos, "figures in every view");
}

// A run that has been checked is answered.
void expect_answer(const Run& run) {
  const Prediction prediction = predict_or_nearest(run);
  expect_sound(prediction);
  expect(Evaluator(run.model, run.cluster, run.stack, run.seq).score(run.plan, run.global_batch) ==
             prediction.score(),
         "score and predict agree");
  expect(!predict_text(run, prediction).empty(), "a report");
  const std::string json = predict_json(run, prediction);
  expect(json.starts_with('{') && json.find(":nan") == std::string::npos, "a report in JSON");
  if (events_of(job_of(run)) <= kMostEventsViewed) expect_views(run);
}

// Counts of a kind: how many were tried, and how many were accepted and so predicted.
struct Kind {
  std::string_view name;
  void (*run)(Random&, bool& accepted);
  int tried = 0;
  int accepted = 0;
};

const Catalog& catalog() {
  static const Catalog built_in;
  return built_in;
}

struct Corpus {
  std::vector<std::string> runs;
  std::vector<std::string> logs;
  std::vector<std::string> tables;
  std::vector<std::string> training_logs;
  std::vector<std::string> traces;
  std::vector<std::string> topologies;
  std::vector<std::string> launches;
  std::vector<std::string> words;
};

// Every file of a folder of golden inputs.
std::vector<std::string> golden_texts(const std::string& folder, std::string_view suffix) {
  std::vector<std::string> texts;
  const std::string path = FORETRAIN_GOLDEN_INPUTS "/" + folder;
  const auto files = list_folder(path, suffix).value();
  for (const std::string& file : files) texts.push_back(read_file(path + "/" + file, kMaxYamlBytes).value());
  return texts;
}

const Corpus& corpus() {
  static const Corpus made = [] {
    Corpus out;
    const auto files = list_folder(FORETRAIN_GOLDEN_INPUTS, ".yaml").value();
    for (const std::string& file : files)
      out.runs.push_back(read_file(FORETRAIN_GOLDEN_INPUTS "/" + file, kMaxYamlBytes).value());
    out.logs = golden_texts("nccl", "");
    out.tables = golden_texts("operator_tables", ".csv");
    out.training_logs = golden_texts("logs", "");
    out.traces = golden_texts("traces", ".json");
    out.topologies = golden_texts("topo", "");
    out.launches = golden_texts("launch", "");
    for (std::string& text : golden_texts("hf", ".json")) out.launches.push_back(std::move(text));
    for (const EmbeddedFile& file : embedded_files())
      if (file.path.ends_with(".yaml"))
        for (std::string& word : words_of(file.content))
          if (word.size() < 30) out.words.push_back(std::move(word));
    std::sort(out.words.begin(), out.words.end());
    out.words.erase(std::unique(out.words.begin(), out.words.end()), out.words.end());
    return out;
  }();
  return made;
}

// Good runs, of which a case changes one part.
Run good_run(Random& random) {
  struct Named {
    const char *model, *cluster, *stack;
    std::int64_t gpus, batch;
    const char* plan;
  };
  constexpr Named named[] = {
      {"gpt2", "dgx-a100", "generic", 1, 8, ""},
      {"gpt2-xl", "dgx-a100", "megatron", 16, 64, "tp=1,pp=2,micro_batch=2"},
      {"gpt-neox-20b", "perlmutter", "neox", 128, 512,
       "tp=4,pp=4,zero=1,micro_batch=4,recompute=full,precision=fp16"},
      {"llama-3-8b", "dgx-h100", "generic", 64, 512, "tp=2,pp=2,zero=1,recompute=selective"},
  };
  const Named& chosen = random.pick(named);
  RunOptions options;
  options.model = chosen.model;
  options.cluster = chosen.cluster;
  options.stack = chosen.stack;
  options.gpus = chosen.gpus;
  options.global_batch = chosen.batch;
  options.plan = chosen.plan;
  auto run = parse_run(nullptr, options, catalog());
  if (!run) fail_case(run.error().text());
  return *std::move(run);
}

// Refused in one line, or answered.
template <class T>
bool good(const Result<T>& result) {
  if (!result) expect_one_line(result.error());
  return result.has_value();
}

void try_run(Run run, bool& accepted) {
  run.plan.dp = 0;
  accepted = good(check_run(run));
  if (accepted) expect_answer(run);
}

bool same(const Position& a, const Position& b) { return a.line == b.line && a.column == b.column; }

bool same(const Node& a, const Node& b) {
  return a.kind == b.kind && a.scalar == b.scalar && same(a.at, b.at) &&
         std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
                    [](const Node& x, const Node& y) { return same(x, y); }) &&
         std::equal(a.key_at.begin(), a.key_at.end(), b.key_at.begin(), b.key_at.end(),
                    [](const Position& x, const Position& y) { return same(x, y); }) &&
         std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(),
                    [](const Node::Entry& x, const Node::Entry& y) {
                      return x.key == y.key && same(x.value, y.value);
                    });
}

// Text that is read without the YAML library gives what the library gives.
void expect_same_tree(const std::string& text, const Result<Node>& node) {
  const auto library = parse_yaml_by_library(text, "preset.yaml");
  expect(node.has_value() == library.has_value() && (!node || same(*node, *library)), "one tree, either way");
}

void try_preset(Random& random, bool& accepted) {
  const EmbeddedFile& file = random.pick(embedded_files());
  if (file.path.ends_with(".bin")) return;
  current += fmt::format("{}\n", file.path);
  const std::string text = mutated(std::string(file.content), corpus().words, random);
  current += text;
  const auto node = parse_yaml(text, "preset.yaml");
  expect_same_tree(text, node);
  if (!good(node)) return;
  Run run = good_run(random);
  const auto put = [&](auto parsed, auto& part) {
    if (!good(parsed)) return false;
    part = *std::move(parsed);
    return true;
  };
  bool read = false;
  if (file.path.starts_with("models/")) read = put(parse_model(*node), run.model);
  if (file.path.starts_with("gpus/")) read = put(parse_gpu(*node), run.cluster.gpu);
  if (file.path.starts_with("clusters/")) read = put(catalog().cluster(*node), run.cluster);
  if (file.path.starts_with("stacks/")) read = put(catalog().stack(*node), run.stack);
  if (file.path.starts_with("recipes/")) {
    run.stack.recipes.resize(1);
    read = put(parse_recipe(*node), run.stack.recipes.front());
    run.plan.precision = run.stack.recipes.front().name;
  }
  if (read) try_run(std::move(run), accepted);
}

// What frameworks are launched with, and configs of models.
void try_launch(Random& random, bool& accepted) {
  const std::string text = mutated(random.pick(corpus().launches), corpus().words, random);
  current += text;
  const auto model = read_foreign_model(text, "config.json");
  if (good(model) && *model) accepted = good(parse_model((*model)->map));
  const auto run = read_foreign_run(text, "launch");
  if (!good(run) || !*run) return;
  const Node* stated = (*run)->run.find("model");
  if (stated != nullptr && stated->is_map()) accepted = good(parse_model(*stated));
}

void try_run_text(const std::string& text, const RunOptions& options, bool& accepted) {
  current += fmt::format("--gpus {} --seq {} --global-batch {} --plan '{}'\n{}", options.gpus, options.seq,
                         options.global_batch, options.plan, text);
  const auto node = parse_yaml(text, "run.yaml");
  if (!good(node)) return;
  const auto run = parse_run(&*node, options, catalog());
  accepted = good(run);
  if (accepted) expect_answer(*run);
}

void try_run_file(Random& random, bool& accepted) {
  const Run base = good_run(random);
  std::string text = fmt::format(
      "model: {}\ncluster: {}\nstack: {}\ngpus: {}\nseq: {}\nglobal_batch: {}\nplan: {{tp: {}, pp: {}}}\n",
      base.model.name, base.cluster.name, base.stack.name, base.gpus, base.seq, base.global_batch,
      base.plan.tp, base.plan.pp);
  if (random.one_in(3)) text = random.pick(corpus().runs);
  text = mutated(std::move(text), corpus().words, random);
  RunOptions options;
  constexpr std::int64_t counts[] = {1, 8, 96, 1000, 10'000'000, 1'000'000'000, INT64_MAX, -1};
  for (std::int64_t* option : {&options.gpus, &options.seq, &options.global_batch})
    if (random.one_in(10)) *option = random.pick(counts);
  if (random.one_in(5)) options.plan = mutated("tp=2,pp=2,micro_batch=2", corpus().words, random);
  try_run_text(text, options, accepted);
}

void try_plan(Random& random, bool& accepted) {
  constexpr std::string_view plans[] = {
      "tp=4,pp=2,recompute=full,layers_per_stage=6-6",
      "tp=4,sp=1,sp_gather_again=0,recompute=full,recompute_layers=3,optimizer=adamw_8bit,master_weights=0,"
      "offload=1",
      "tp=1,pp=4,dp=4,zero=1,micro_batch=2,schedule=gpipe,precision=fp16",
      "zero=3,shard=2,overlap_param_gather=1",
      "sp=1,tp=2,attention=unfused,grad_dtype=fp32,reduce_dtype=bf16,overlap_grad_reduce=1",
      "vpp=2,cp=2,ep=2,partition_activations=yes",
      "pp=2,schedule=dualpipev",
      "pp=4,vpp=3,schedule=interleaved",
      "pp=2,schedule=zb-h2,layers_per_stage=5-7"};
  const std::string text = mutated(std::string(random.pick(plans)), corpus().words, random);
  current += text;
  Run run = good_run(random);
  const auto plan = parse_plan(text, run.plan);
  if (!good(plan)) return;
  expect(parse_plan(to_text(*plan)) == *plan, "a plan reads back as it is written");
  run.plan = *plan;
  try_run(std::move(run), accepted);
}

void try_table(Random& random, bool& accepted) {
  const Cells dense = {{"notes", "biases=1; fastest_s=0.4; params=1"}};
  const Cells experts = {
      {"norm", "rmsnorm"},
      {"ffn_type", "swiglu"},
      {"positions", "rope"},
      {"experts", "8"},
      {"top_k", "2"},
      {"expert_ffn", "512"},
      {"dense_layers", "2"},
      {"ep", "4"},
      {"etp", "1"},
      {"dispatcher", "deepep"},
      {"routing", "capacity"},
      {"pp_layout", "Et*2|(t*2|)*2t*2L"},
      {"vpp", "2"},
      {"schedule", "interleaved"},
      {"recompute_modules", "moe_act+layernorm"},
      {"dp_overlap", "grad_reduce"},
      {"opt_state", "bf16"},
      {"sliding_window", "128:alternate"},
      {"group", "one"},
      {"notes",
       "mla=1; q_lora_rank=96; kv_lora_rank=64; qk_nope_head_dim=32; qk_rope_head_dim=16; v_head_dim=24; x"}};
  const std::vector<Cells> rows(1 + random.below(3), random.one_in(2) ? dense : experts);
  const std::string text = mutated(example_table(rows), corpus().words, random);
  current += text;
  const auto table = CsvTable::parse(text, "runs.csv");
  if (!good(table)) return;
  const auto measured = measured_rows(*table);
  if (!good(measured)) return;
  const auto scores =
      score_rows(*measured, catalog(), random.one_in(2) ? Against::kMedian : Against::kFastest);
  if (!good(scores)) return;
  for (const RowScore& score : *scores) {
    if (!score.skipped.empty()) continue;
    accepted = true;
    expect_positive(score.predicted.value, "predicted");
    expect_positive(score.predicted_memory.value, "predicted memory");
    if (score.error()) expect(std::isfinite(*score.error()), "error is finite");
  }
  expect(!validate_text(*scores, {GroupBy::kSource, true}).empty(), "a report");
  expect(validate_json(*scores, {GroupBy::kStack, true}).starts_with('{'), "a report in JSON");
}

// Samples of invented times, through cleaning and a price by the profile of the GPU.
void try_samples(Random& random, bool& accepted) {
  std::string text = "operator,impl,pass,dtype,dims,us\n";
  for (std::uint64_t i = 0; i < 12; ++i)
    text += fmt::format(
        "linear,aten,fwd,fp16,m={} k=1024 n=4096,{}\nattention,flash,bwd,bf16,batch=2 heads=8 kv_heads=4 "
        "seq={} "
        "head_dim=64 causal=1,{}\ngelu,fused,fwd,fp16,tokens={} width=4096,{}\n"
        "grouped_product,eager,dgrad,bf16,experts=8 m={} k=1024 n=4096,{}\n"
        "unpermute,eager,bwd,bf16,tokens={} width=1024 top_k=2,{}\n",
        128 * (i + 1), 20 + 9 * i, 256 * (i + 1), 50 + 40 * i, 512 * (i + 1), 6 + 3 * i, 1024 * (i + 1),
        90 + 40 * i, 512 * (i + 1), 30 + 9 * i);
  for (const char* route : {"fwd", "bwd"})
    text += fmt::format("route,fused,{},bf16,tokens=4096 experts=64 top_k=8,40\n", route);
  text = mutated(text, corpus().words, random);
  current += text;
  const auto samples = parse_samples(text, "samples.csv");
  if (!good(samples)) return;
  static const Cluster cluster = catalog().cluster("perlmutter").value();
  static const auto costs = ProfileStore().costs_for(cluster, "").value().costs;
  const CleanResult result = clean(*samples, cluster.gpu);
  accepted = true;
  expect(result.kept.size() + result.rejected.size() == samples->size(), "every sample is kept or rejected");
  for (const Sample& sample : *samples) {
    if (is_product(sample.op.kind) && cluster.gpu.rate(sample.op.dtype).value == 0) continue;
    const OperatorCost cost = costs->cost(sample.op);
    expect_positive(cost.gpu.value, "seconds");
    expect(std::isfinite(cost.spread), "a spread");
  }
}

LinkBounds some_bounds(Random& random) {
  constexpr double rates[] = {0, 1e-3, 25, 300, 1e6};
  return {gigabytes_per_second(random.pick(rates)), gigabytes_per_second(random.pick(rates))};
}

void expect_sorted_out(const std::vector<CollectiveSample>& samples, Random& random) {
  const auto result = clean(samples, some_bounds(random));
  expect(result.kept.size() + result.rejected.size() == samples.size(), "every sample is kept or rejected");
  std::size_t counted = 0;
  for (const CollectiveRejection& rejection : result.rejections) counted += rejection.count;
  expect(counted == result.rejected.size(), "every rejected sample has a reason");
  expect(parse_collective_samples(to_csv(samples), "again.csv").has_value(), "what is written reads back");
}

// Collectives of invented times, through cleaning.
void try_collectives(Random& random, bool& accepted) {
  std::string text = "collective,bytes,ranks,ranks_per_node,us,spread,source\n";
  for (std::uint64_t i = 0; i < 40; ++i)
    text +=
        fmt::format("all_gather,{},8,4,{},,a\nall_reduce,{},16,8,{},0.01,b\n", 100'000 * (i + 8),
                    50 + 3 * i + (i % 5 == 0 ? 900 : 0), 8ull << (i % 24), 10 + (8ull << (i % 24)) / 100'000);
  text = mutated(text, corpus().words, random);
  current += text;
  const auto samples = parse_collective_samples(text, "collectives.csv");
  if (!good(samples)) return;
  accepted = true;
  expect_sorted_out(*samples, random);
}

// Published tables of exchanges with something wrong in them.
void try_operator_table(Random& random, bool& accepted) {
  const std::string text = mutated(random.pick(corpus().tables), corpus().words, random);
  current += text;
  const auto imported = import_operator_tables({{"t.csv", text}});
  if (!good(imported)) return;
  accepted = true;
  expect(!import_text(*imported).empty(), "what was read");
  for (const auto& [gpu, samples] : imported->samples) expect_sorted_out(samples, random);
}

// Logs of nccl-tests with something wrong in them.
void try_nccl_log(Random& random, bool& accepted) {
  const std::string text = mutated(random.pick(corpus().logs), corpus().words, random);
  current += text;
  NcclTestsOptions options;
  if (random.one_in(2)) options = {CollectiveKind::kAllReduce, 16, 8};
  const auto imported = parse_nccl_tests(text, random.one_in(2) ? "sendrecv.log" : "x.log", options);
  if (!good(imported)) return;
  accepted = true;
  expect(!import_text(*imported).empty(), "a report");
  if (!imported->samples.empty()) expect_sorted_out(imported->samples, random);
}

// Logs of training runs with something wrong in them.
void try_training_log(Random& random, bool& accepted) {
  const std::string text = mutated(random.pick(corpus().training_logs), corpus().words, random);
  current += text;
  const auto log = parse_training_log(text, "x.log");
  if (!good(log)) return;
  accepted = true;
  expect(log->steps > 0 || log->steady.seconds > 0, "a step");
  expect_not_negative(log->steady.seconds, "seconds");
  expect_not_negative(log->steady.spread, "spread");
  expect(!log_text(*log).empty(), "a report");
  const std::string json = log_json({*log});
  for (const char* nothing : {": nan", ": inf"})
    expect(json.find(nothing) == std::string::npos, "figures in JSON");
}

// Traces of the profiler with something wrong in them, packed or not.
void try_trace(Random& random, bool& accepted) {
  std::string text = mutated(random.pick(corpus().traces), corpus().words, random);
  current += text;
  if (random.one_in(4)) text = mutated(gzip(text), corpus().words, random);
  const auto trace = read_kineto(text, "trace.json");
  if (!good(trace)) return;
  accepted = true;
  expect(trace->kernels > 0, "kernels");
  expect_not_negative(trace->kernel_us, "their time");
  expect(!kineto_text(*trace).empty() && kineto_json({*trace}).starts_with('{'), "a report");
  if (!trace->samples.empty())
    expect(parse_samples(to_csv(trace->samples), "again.csv").has_value(), "what is written reads back");
}

// Tables of links with something wrong in them: what is read makes a cluster.
void try_topology(Random& random, bool& accepted) {
  const std::string text = mutated(random.pick(corpus().topologies), corpus().words, random);
  current += text;
  const auto topology = parse_topo(text, "topo.txt");
  if (!good(topology)) return;
  accepted = true;
  const TopoCluster made = topo_cluster(*topology, usual_gpu(*topology), 450, true);
  expect(!made.assumed.empty(), "assumptions");
  const auto yaml = parse_yaml(made.yaml, "made.yaml");
  expect(yaml.has_value() && catalog().cluster(*yaml).has_value(), "a cluster");
}

// Figures from anywhere in their ranges, the ends included, chosen so that most of the rules hold.
void try_extreme(Random& random, bool& accepted) {
  using Counts = std::vector<std::int64_t>;
  const auto count = [&random](const Counts& from) { return random.pick(from); };
  const auto word = [&random](const std::vector<const char*>& from) { return random.pick(from); };
  const std::int64_t tp = count({1, 1, 2, 8, 1000, 10'000});
  const std::int64_t pp = count({1, 1, 2, 7, 100, 10'000, 1'000'000});
  const std::int64_t gpus = std::min<std::int64_t>(10'000'000, tp * pp * count({1, 1, 3, 1000, 10'000'000}));
  const std::int64_t dp = std::max<std::int64_t>(1, gpus / (tp * pp));
  const std::int64_t micro_batch = count({1, 1, 4, 1'000'000});
  const std::int64_t share = std::min<std::int64_t>(1'000'000'000, dp * micro_batch);
  const std::int64_t batch =
      share * std::min(1'000'000'000 / share, count({1, 2, 1000, 1'000'000, 1'000'000'000}));
  const std::int64_t node = count({1, 3, 8, 1024});

  std::string text = fmt::format(
      "model: {{hidden: {}, layers: {}, heads: {}, head_dim: {}, ffn: {}, vocab: {}, max_positions: {}, ",
      count({1, 64, 1000, 1'000'000}), count({1, 100, 10'000, std::min<std::int64_t>(pp, 10'000)}),
      std::min<std::int64_t>(10'000, tp * count({1, 10})), count({1, 128, 10'000}),
      std::min<std::int64_t>(1'000'000, tp * count({1, 100, 1000})), count({1, 50'000, 100'000'000}),
      count({1, 2048, 100'000'000}));
  text += fmt::format("mlp: {}, norm: {}, positions: {}, residual: {}, tied: {}, biases: {}}}\n",
                      word({"gelu", "swiglu"}), word({"layernorm", "rmsnorm"}), word({"rope", "learned"}),
                      word({"parallel", "sequential"}), word({"0", "1"}), word({"0", "1"}));
  text += fmt::format(
      "cluster:\n  gpu: {{rates_tflops: {{bf16: {}}}, hbm_gbytes: {}, memory_mib: {}, usable_mib: 1, "
      "l2_mib: {}, sms: {}, clock_mhz: {{base: 1, max: 100000}}, power_cap_w: 1}}\n",
      word({"1e-3", "312", "1e6"}), word({"1e-3", "2039", "1e6"}), word({"1", "81920", "1e9"}),
      word({"1e-3", "40", "1e6"}), word({"1", "108", "100000"}));
  text += fmt::format(
      "  gpus_per_node: {}\n  nvlink_domain: {}\n  host_launch_us: {}\n"
      "  intra: {{gbytes: {}, latency_us: {}}}\n  inter: {{gbps: {}, latency_us: {}, nics: {}}}\n",
      node, node * count({1, 1, 9, 976}), word({"0", "6", "1e6"}), word({"1e-3", "300", "1e6"}),
      word({"0", "2", "1e6"}), word({"1e-3", "800", "1e6"}), word({"0", "6", "1e6"}), count({1, 8, 1024}));
  text += fmt::format("gpus: {}\nglobal_batch: {}\nseq: {}\nstack: {}\n", gpus, batch,
                      count({1, 2048, 1'000'000, 100'000'000}), word({"generic", "megatron", "neox"}));
  text += fmt::format(
      "plan: {{tp: {}, pp: {}, micro_batch: {}, zero: {}, recompute: {}, schedule: {}, attention: {}}}\n", tp,
      pp, micro_batch, word({"0", "1", "2", "3"}), word({"none", "selective", "full"}),
      word({"1f1b", "gpipe"}), word({"flash", "unfused"}));
  try_run_text(text, {}, accepted);
}

// A search of a model of two layers on two GPUs, its constraints and questions with something wrong in them.
void try_search(Random& random, bool& accepted) {
  const auto text = [&random](std::vector<std::string> from) {
    const std::string word = random.pick(from);
    return random.one_in(4) ? mutated(word, corpus().words, random) : word;
  };
  AnswerRequest request;
  request.problem.model = catalog().model("gpt2").value();
  request.problem.model.blocks.front().count = 2;
  request.problem.cluster = catalog().cluster("dgx-h100").value();
  request.problem.stack = catalog().stack("megatron").value();
  request.problem.gpus = {2};
  request.problem.global_batch = 2;
  request.problem.seq = 64;
  request.options.threads = 1;
  request.costs_for = [](const Cluster&) { return std::shared_ptr<const CostSource>(); };
  const std::string set =
      text({"tp=1,2", "schedule=1f1b,gpipe,pp=2", "layers_per_stage=1-1", "precision=fp16"});
  const std::string range = text({"pp=1..2", "micro_batch=1..1,tp=1..2", "last_layers=0..1", "zero=0..1"});
  const std::string forbid = text({"zero=3", "sp=1,schedule=zbv", "first_layers=2", "recompute=full"});
  request.whys = {text({"tp=2", "pp=2,schedule=dualpipe", "zero=3,shard=2", "layers_per_stage=2-0"})};
  request.what_ifs = {text({"gpus=4", "inter_gbps=800", "usable_gib=1.5", "global_batch=4", "seq=128"})};
  current += fmt::format("--set {} --range {} --forbid {} --why {} --what-if {}", set, range, forbid,
                         request.whys.front(), request.what_ifs.front());
  if (!good(request.constraints.add_set(set, request.problem)) ||
      !good(request.constraints.add_range(range, request.problem)) ||
      !good(request.constraints.add_forbid(forbid, request.problem)))
    return;
  const auto answer = answer_search(request);
  if (!good(answer)) return;
  accepted = true;
  const SearchCounts& counts = answer->result.counts;
  expect(counts.evaluated + counts.pruned_memory + counts.pruned_bound == counts.candidates,
         "every plan is counted once");
  for (const RankedPlan& plan : answer->best) expect_sound(plan.prediction);
  expect(!search_text(*answer).empty() && !search_json(*answer).empty(), "an answer");
  expect(search_html(*answer, {}).find("</html>") != std::string::npos, "a page");
}

// One small run over whatever the words say.
void try_over(Random& random, bool& accepted) {
  constexpr std::string_view texts[] = {"inter_gbps=100..3200/5,seq=64..512",
                                        "tp=1,2,4,zero=0..3",
                                        "schedule=1f1b,gpipe,zbv",
                                        "gpus=1..8,global_batch=8..32",
                                        "usable_gib=0.5..80,recompute=none,full",
                                        "hbm_gbytes=100..8000,bf16_tflops=10..2000/3",
                                        "host_launch_us=0..10,nics=1..8",
                                        "model=gpt2,gpt2-xl"};
  OverRequest request;
  request.predict.model = "gpt2";
  request.predict.cluster = "dgx-a100";
  request.predict.stack = "megatron";
  request.predict.gpus = "8";
  request.predict.global_batch = "16";
  request.over = mutated(std::string(random.pick(texts)), corpus().words, random);
  current += "--over " + request.over;
  Session session(no_files());
  const auto answer = ask(session, request);
  if (!good(answer)) return;
  accepted = true;
  for (const OverPoint& point : answer->points) {
    if (!point.runs()) continue;
    expect_positive(point.figures.step.value, "step");
    expect_positive(point.figures.step.high(), "high");
    expect_not_negative(point.figures.fit_probability, "fit_probability");
  }
  expect(!over_text(*answer).empty() && !over_chart(*answer, {}).empty(), "an answer");
  for (const std::string& text : {over_csv(*answer), over_json(*answer), over_html(*answer)})
    for (const char* nothing : {":nan", ": nan", ",nan", "=\"nan", ">nan<", ":inf", ",inf", "=\"inf"})
      expect(text.find(nothing) == std::string::npos, "figures in every form");
}

// The cases first .. first + cases - 1, the kinds in turn.
int run_cases(std::uint64_t cases, std::uint64_t first) {
  Kind kinds[] = {{"preset", try_preset},
                  {"run file", try_run_file},
                  {"plan", try_plan},
                  {"table", try_table},
                  {"samples", try_samples},
                  {"extreme", try_extreme},
                  {"collectives", try_collectives},
                  {"nccl log", try_nccl_log},
                  {"operator table", try_operator_table},
                  {"training log", try_training_log},
                  {"trace", try_trace},
                  {"topology", try_topology},
                  {"launch", try_launch},
                  {"search", try_search},
                  {"over", try_over}};
  double slowest = 0;
  std::uint64_t slowest_case = first;
  for (std::uint64_t i = first; i < first + cases; ++i) {
    Kind& kind = kinds[i % std::size(kinds)];
    current = fmt::format("case {} ({}), of: ", i, kind.name);
    Random random(i);
    bool accepted = false;
    limit_seconds();
    const std::clock_t start = std::clock();
    kind.run(random, accepted);
    const double spent = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    if (spent > slowest) slowest = spent, slowest_case = i;
    ++kind.tried;
    kind.accepted += accepted;
  }
  for (const Kind& kind : kinds)
    fmt::print("{}: {} tried, {} accepted\n", kind.name, kind.tried, kind.accepted);
  fmt::print("slowest: case {}, {:.2f} s\n", slowest_case, slowest);
  return 0;
}

}  // namespace
}  // namespace foretrain

// A sanitizer that finds something aborts, so that on_signal names the case.
extern "C" const char* __asan_default_options() { return "abort_on_error=1"; }
extern "C" const char* __ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }

int main(int argc, char** argv) {
  for (const int number : {SIGABRT, SIGFPE, SIGBUS}) ::signal(number, foretrain::on_signal);
#ifndef __SANITIZE_ADDRESS__
  ::signal(SIGSEGV, foretrain::on_signal);  // the sanitizer reports it, then aborts
#endif
  ::signal(SIGPROF, foretrain::on_signal);
  const auto cases = foretrain::parse_integer(argc > 1 ? argv[1] : "1000");
  const auto first = foretrain::parse_integer(argc > 2 ? argv[2] : "0");
  if (!cases || !first || *cases < 0 || *first < 0) {
    std::fputs("usage: fuzz_test [CASES [FIRST]]\n", stderr);
    return 2;
  }
  return foretrain::run_cases(static_cast<std::uint64_t>(*cases), static_cast<std::uint64_t>(*first));
}
