#include "report/trace_json.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "predict/testing.h"

namespace foretrain {
namespace {

using nlohmann::json;

struct Traced {
  Run run;
  Prediction prediction;
  StepView view;
};

Traced traced(const std::string& stack, std::int64_t gpus, const std::string& plan, std::int64_t batch) {
  const Run run = run_of("gpt3-175b", "selene", gpus, stack, plan, batch);
  StepTrace trace;
  Prediction prediction = evaluator_of(run).predict(run.plan, run.global_batch, &trace);
  return {run, std::move(prediction), StepView(std::move(trace))};
}

// In microseconds.
struct Slice {
  double start, end;
  std::string name;
};

// An eighth of a microsecond: exact in binary, and a whole number of nanoseconds.
bool is_exact(double us) { return us * 8 == std::floor(us * 8); }

// The rules of the format: required fields, slices of a thread that nest or do not overlap, arrows with two
// ends. The slices by thread.
std::map<std::int64_t, std::vector<Slice>> checked(const json& root) {
  std::map<std::int64_t, std::vector<Slice>> threads;
  std::map<std::int64_t, std::int64_t> processes;  // of a thread
  std::set<std::int64_t> named_processes, named_threads;
  std::map<std::int64_t, std::pair<int, int>> arrows;
  REQUIRE(root.at("traceEvents").is_array());
  for (const json& e : root.at("traceEvents")) {
    REQUIRE(e.at("name").is_string());
    REQUIRE(e.at("pid").is_number_integer());
    const auto kind = e.at("ph").get<std::string>();
    if (kind == "M") {
      if (e.at("name") == "process_name") named_processes.insert(e.at("pid").get<std::int64_t>());
      if (e.at("name") == "thread_name") named_threads.insert(e.at("tid").get<std::int64_t>());
      REQUIRE(e.at("args").is_object());
      continue;
    }
    REQUIRE(e.at("ts").is_number());
    REQUIRE(e.at("ts").get<double>() >= 0);
    REQUIRE(named_processes.count(e.at("pid").get<std::int64_t>()) == 1);
    if (kind == "C") {
      REQUIRE(e.at("args").at("GiB").is_number());
      continue;
    }
    const auto tid = e.at("tid").get<std::int64_t>();
    REQUIRE(named_threads.count(tid) == 1);
    const auto [process, fresh] = processes.emplace(tid, e.at("pid").get<std::int64_t>());
    REQUIRE(process->second == e.at("pid").get<std::int64_t>());
    if (kind == "X") {
      REQUIRE(e.at("dur").get<double>() >= 0);
      const auto start = e.at("ts").get<double>(), length = e.at("dur").get<double>();
      REQUIRE(is_exact(start));
      REQUIRE(is_exact(length));
      threads[tid].push_back({start, start + length, e.at("name").get<std::string>()});
    } else if (kind == "s") {
      ++arrows[e.at("id").get<std::int64_t>()].first;
    } else {
      REQUIRE(kind == "f");
      REQUIRE(e.at("bp") == "e");
      ++arrows[e.at("id").get<std::int64_t>()].second;
    }
  }
  for (const auto& [id, ends] : arrows) {
    REQUIRE(ends.first == 1);
    REQUIRE(ends.second == 1);
  }
  for (const auto& [tid, slices] : threads) {
    std::vector<double> open;  // ends of the slices around
    double before = 0;
    for (const Slice& slice : slices) {
      REQUIRE(slice.start >= before);
      before = slice.start;
      while (!open.empty() && open.back() <= slice.start) open.pop_back();
      if (!open.empty()) REQUIRE(slice.end <= open.back());
      if (slice.end > slice.start) open.push_back(slice.end);
    }
  }
  return threads;
}

double last_end(const std::map<std::int64_t, std::vector<Slice>>& threads) {
  double last = 0;
  for (const auto& [tid, slices] : threads)
    for (const Slice& slice : slices) last = std::max(last, slice.end);
  return last;
}

// Every start and end is off by at most half an eighth.
double rounding(const std::vector<Slice>& slices) { return static_cast<double>(slices.size()) * 0.125e-6; }

double pass_seconds(const std::vector<Slice>& slices) {
  double sum = 0;
  for (const Slice& slice : slices)
    if (slice.name != "recompute") sum += slice.end - slice.start;
  return sum * 1e-6;
}

}  // namespace

TEST_CASE("the trace follows the format, ends with the step, and its passes are what a stage computes") {
  for (const char* plan : {"tp=8,pp=4,recompute=full", "tp=8,pp=4,schedule=interleaved,vpp=2",
                           "tp=8,pp=4,schedule=zb-h1", "tp=8,pp=4,schedule=zbv",
                           "tp=8,pp=4,schedule=dualpipe", "tp=8,pp=4,schedule=dualpipev", "tp=8,pp=1"}) {
    for (const char* stack : {"megatron", "neox", "generic"}) {
      CAPTURE(plan);
      CAPTURE(stack);
      const Traced t = traced(stack, 64, plan, 64);
      const json root = json::parse(trace_json(t.run, t.view, cut_trace(t.view.trace)));
      const auto threads = checked(root);
      CHECK(std::abs(last_end(threads) * 1e-6 - t.prediction.step.value) <= 0.1e-6);
      for (std::int64_t r = 0; r < t.run.plan.pp; ++r)
        CHECK(std::abs(pass_seconds(threads.at(100 * (r + 1) + 1)) -
                       t.view.times[static_cast<std::size_t>(r)].passes.value) <=
              rounding(threads.at(100 * (r + 1) + 1)));
      // The critical path is a thread without gaps, as long as the step.
      const auto& path = threads.at(100 * (t.run.plan.pp + 1) + 1);
      for (std::size_t k = 1; k < path.size(); ++k) CHECK(path[k].start == path[k - 1].end);
      CHECK(path.front().start == 0);
      CHECK(path.back().end == last_end(threads));
    }
  }
}

TEST_CASE("a backward that recomputes shows it inside, and a pass says what it is made of") {
  const Traced t = traced("megatron", 64, "tp=8,pp=4,recompute=full", 64);
  const json root = json::parse(trace_json(t.run, t.view, cut_trace(t.view.trace)));
  bool recomputes = false;
  for (const json& e : root.at("traceEvents")) {
    if (e.at("ph") != "X" || e.at("name") != "B0") continue;
    const json& args = e.at("args");
    if (!args.contains("micro_batch")) continue;  // the critical path's
    CHECK(args.at("micro_batch") == 0);
    recomputes = true;
    CHECK(args.at("tensor_parallel_ms").get<double>() > 0);
    const double parts = args.at("backward_ms").get<double>() + args.at("recompute_ms").get<double>() +
                         args.at("tensor_parallel_ms").get<double>() + args.value("launch_ms", 0.0);
    CHECK(parts * 1000 == doctest::Approx(e.at("dur").get<double>()).epsilon(1e-4));
  }
  CHECK(recomputes);
}

TEST_CASE(
    "the counters hold what is in flight and what is allocated, and states alone when the step is over") {
  const Traced t = traced("megatron", 64, "tp=8,pp=4", 64);
  const json root = json::parse(trace_json(t.run, t.view, cut_trace(t.view.trace)));
  std::map<std::int64_t, double> most, last, most_allocated, last_allocated;
  for (const json& e : root.at("traceEvents")) {
    if (e.at("ph") != "C") continue;
    if (e.at("name") == "allocated (GiB)") {
      const auto pid = e.at("pid").get<std::int64_t>();
      last_allocated[pid] = e.at("args").at("GiB").get<double>();
      most_allocated[pid] = std::max(most_allocated[pid], last_allocated[pid]);
      continue;
    }
    const auto pid = e.at("pid").get<std::int64_t>();
    last[pid] = e.at("args").at("GiB").get<double>();
    most[pid] = std::max(most[pid], last[pid]);
  }
  REQUIRE(most.size() == 4);
  for (std::size_t r = 0; r < 4; ++r) {
    const auto pid = static_cast<std::int64_t>(r) + 1;
    const double one = t.view.trace.chunks[r].held / gib(1);
    CHECK(most[pid] ==
          doctest::Approx(static_cast<double>(t.prediction.stages[r].in_flight) * one).epsilon(1e-4));
    CHECK(last[pid] == doctest::Approx(0).epsilon(1e-9));
    const StagePrediction& stage = t.prediction.stages[r];
    CHECK(most_allocated[pid] == doctest::Approx(stage.memory.allocated / gib(1)).epsilon(1e-4));
    CHECK(last_allocated[pid] == doctest::Approx(stage.states.total() / gib(1)).epsilon(1e-4));
  }
}

TEST_CASE("a trace of 128 stages is whole and follows the format") {
  const Run run = run_of("gpt-1t", "selene", 1024, "megatron", "tp=8,pp=128", 256);
  StepTrace trace;
  const Prediction prediction = evaluator_of(run).predict(run.plan, run.global_batch, &trace);
  const StepView view(std::move(trace));
  const TraceCut cut = cut_trace(view.trace);
  CHECK(cut.stages.size() == 128);
  CHECK(cut.note.empty());
  const std::string text = trace_json(run, view, cut);
  CHECK(text == trace_json(run, view, cut));
  const auto threads = checked(json::parse(text));
  CHECK(std::abs(last_end(threads) * 1e-6 - prediction.step.value) <= 0.1e-6);
  for (std::int64_t r = 0; r < 128; ++r)
    CHECK(std::abs(pass_seconds(threads.at(100 * (r + 1) + 1)) -
                   view.times[static_cast<std::size_t>(r)].passes.value) <=
          rounding(threads.at(100 * (r + 1) + 1)));
}

TEST_CASE("more stages are cut to the first and the last, or to those asked for, and it is said") {
  StepTrace trace;
  trace.pipeline = {ScheduleKind::k1f1b, 200, 1};
  TraceCut cut = cut_trace(trace);
  REQUIRE(cut.stages.size() == 128);
  CHECK(cut.stages[63] == 63);
  CHECK(cut.stages[64] == 136);
  CHECK(
      cut.note ==
      "Cut to 128 of 200 stages, the first and the last: at most 128 stages and 1,000,000 events are shown");
  cut = cut_trace(trace, *parse_stages("1-3,200", 200));
  CHECK(cut.stages == std::vector<std::int64_t>{0, 1, 2, 199});
  CHECK(cut.note == "Cut to 4 of 200 stages, as asked");
  // 400,001 events a stage: two stages are under a million.
  trace.pipeline.stages = 4;
  for (std::int64_t r = 0; r < 4; ++r)
    for (int i = 0; i < 400'001; ++i) trace.events.push_back({r, EventKind::kForward, 0, {}, {}});
  CHECK(cut_trace(trace).stages == std::vector<std::int64_t>{0, 3});
}

TEST_CASE("arrows lead only to stages that are shown") {
  const Traced t = traced("megatron", 64, "tp=8,pp=4", 64);
  checked(json::parse(trace_json(t.run, t.view, cut_trace(t.view.trace, {1, 3}))));
}

TEST_CASE("stages are read as people write them, and nothing else") {
  CHECK(*parse_stages("2,1-2", 4) == std::vector<std::int64_t>{0, 1});
  for (const char* bad : {"", "0", "5", "3-2", "1-", "-1", "1-2-3", "a", "1,,2", "99999999999999999999"})
    CHECK_MESSAGE(!parse_stages(bad, 4), bad);
  CHECK(parse_stages("9", 4).error().message == "found '9', expected stages from 1 to 4 such as 1-2,4");
}

}  // namespace foretrain
