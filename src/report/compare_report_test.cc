#include "report/compare_report.h"

#include <doctest/doctest.h>

#include "base/yaml.h"
#include "predict/testing.h"
#include "report/predict_html.h"

namespace foretrain {
namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

PredictedRun run_named(std::string name, double step, double bubble) {
  PredictedRun r;
  r.name = std::move(name);
  r.run.model.name = "small";
  r.run.cluster.name = "lab";
  r.run.cluster.gpu.name = "a100";
  r.run.stack.name = "neox";
  r.run.profile = "analytic";
  r.run.plan.dp = 4;
  r.run.gpus = 4;
  r.run.seq = 1000;
  r.run.global_batch = 64;
  Prediction& p = r.prediction;
  p.step = {.value = step, .spread = 0.02};  // a factor of 1.026 either way
  p.params = 1'300'000'000;
  p.fits = true;
  p.fit_probability = 0.97;
  p.usable = gib(80);
  p.peak = gib(60);
  p.breakdown[static_cast<std::size_t>(StepCause::kBubble)] = Seconds(bubble);
  p.breakdown[static_cast<std::size_t>(StepCause::kForward)] = Seconds(step - bubble);
  p.stages.resize(1);
  return r;
}

std::string last_line(const std::string& text) {
  return text.substr(text.find_last_of('\n', text.size() - 2) + 1);
}

}  // namespace

TEST_CASE("what runs share is told once, then a column each, and the difference to the first") {
  std::vector<PredictedRun> runs = {run_named("a.yaml", 2.0, 0.5), run_named("b.yaml", 1.6, 0.2)};
  runs[1].run.plan.tp = 2;
  const std::string text = compare_text(runs);
  CHECK(
      text.starts_with("small (1.3 B parameters) on lab: 4 x a100, stack neox, profile analytic\n"
                       "64 x 1000 tokens a step\n"
                       "  A  a.yaml  dp=4\n"
                       "  B  b.yaml  tp=2,dp=4\n"
                       "\n"
                       "                 A                 B\n"
                       "  step           2 s               1.6 s\n"
                       "  80 % interval  1.95 s to 2.05 s  1.56 s to 1.64 s\n"
                       "  tokens/s       32 k              40 k\n"));
  CHECK(has(text,
            "where the time goes (s, the busiest stage of each)\n"
            "               A      B   B - A\n"
            "  forward  1.500  1.400  -0.100\n"
            "  bubble   0.500  0.200  -0.300\n"
            "  step     2.000  1.600  -0.400\n"));
  CHECK(last_line(text) ==
        "B is faster: 1.6 s against 2 s of A, 1.25 times its tokens a second, by less bubble (-300 ms) and "
        "forward (-100 ms)\n");
}

TEST_CASE("what got longer is told too, and that intervals overlap") {
  // 2.00 s against 1.96 s: 0.9 s less bubble, 0.86 s more forward.
  const std::vector<PredictedRun> runs = {run_named("a", 2.0, 1.0), run_named("b", 1.96, 0.1)};
  CHECK(last_line(compare_text(runs)) ==
        "B is faster: 1.96 s against 2 s of A, 1.02 times its tokens a second, by less bubble (-900 ms), but "
        "more forward (+860 ms); their 80 % intervals overlap\n");
}

TEST_CASE("what does not fit does not win") {
  std::vector<PredictedRun> runs = {run_named("a", 2.0, 0.5), run_named("b", 1.6, 0.2)};
  runs[1].prediction.fits = false;
  runs[1].prediction.fit_probability = 0;
  CHECK(last_line(compare_text(runs)) ==
        "B does not fit; A is slower than B would be, 0.80 times its tokens a second\n");
  runs[0].prediction.fits = false;
  CHECK(last_line(compare_text(runs)).starts_with("none fits; with memory enough, B is faster: "));
  runs[1].prediction.fits = true;
  CHECK(last_line(compare_text(runs)).starts_with("A does not fit; B is faster: "));
  CHECK(last_line(compare_text({{run_named("a", 2, 1), run_named("b", 2, 1)}})) ==
        "A and B are equally fast\n");
}

TEST_CASE("unequal batches are compared for the same tokens") {
  std::vector<PredictedRun> runs = {run_named("a", 2.0, 0.5), run_named("b", 3.2, 0.4)};
  runs[1].run.global_batch = 128;  // twice the tokens: 1.6 s for those of A
  const std::string text = compare_text(runs);
  CHECK(has(text, "the busiest stage of each, for 64 k tokens as in A's step)\n"));
  CHECK(has(text, "  step     2.000  1.600  -0.400\n"));
  CHECK(has(text, "  B  b  128 x 1000 tokens a step  dp=4\n"));
  CHECK(has(last_line(text),
            "1.25 times its tokens a second, by less bubble (-300 ms) and forward (-100 ms)\n"));
}

TEST_CASE("of three the fastest is named, beside the next") {
  const std::vector<PredictedRun> runs = {run_named("a", 2.0, 0.5), run_named("b", 1.6, 0.2),
                                          run_named("c", 1.8, 0.3)};
  CHECK(last_line(compare_text(runs)).starts_with("B is the fastest: 1.6 s against 1.8 s of C, 1.12 times"));
}

TEST_CASE("as JSON several runs are an array of what one is") {
  const std::vector<PredictedRun> runs = {run_named("a", 2.0, 0.5), run_named("b", 1.6, 0.2)};
  const auto root = parse_yaml(predict_json(runs), "answer.json");
  REQUIRE(root.has_value());
  REQUIRE(root->items.size() == 2);
  CHECK(*root->items[1].find("step_s")->number(0, 10) == 1.6);
}

TEST_CASE("a page holds the whole answer, needs nothing else, and escapes what it was given") {
  const Run real = run_of("gpt-neox-20b", "perlmutter", 128, "neox", "tp=4,pp=4,micro_batch=4", 512);
  Run run = real;
  run.model.name = "<script>alert(1)</script>";
  StepTrace trace;
  Prediction p = evaluator_of(real).predict(real.plan, real.global_batch, &trace);
  p.assumed = {"a < b & c"};
  const StepView view(std::move(trace));
  const std::string html = predict_html(run, p, view);
  CHECK(html == predict_html(run, p, view));
  CHECK(html.starts_with("<!DOCTYPE html>"));
  CHECK(html.ends_with("</body></html>\n"));
  CHECK_FALSE(has(html, "<script"));
  CHECK_FALSE(has(html, "http"));
  CHECK(has(html, "a &lt; b &amp; c"));
  // A box for each pass: 16 forwards and 16 backwards on each of 4 stages.
  std::size_t forwards = 0;
  for (std::size_t at = html.find("<rect class=\"fwd\" x"); at != std::string::npos;
       at = html.find("<rect class=\"fwd\" x", at + 1))
    ++forwards;
  CHECK(forwards == 64);
  CHECK(has(html, "<title>B15 on stage 1: "));
  CHECK(has(html, "<path class=\"path\" d=\"M74.0"));
  CHECK(has(html, "<title>stage 1: optimizer "));
}

TEST_CASE("a page of very many passes shows columns, and stays small") {
  const StepView view(equal_stages(64, 1000));
  Prediction p;
  p.step.value = view.trace.step.value;
  p.stages.resize(64);
  Run run;
  run.plan.dp = 1;
  const std::string html = predict_html(run, p, view);
  CHECK(html.size() < 8'000'000);
  CHECK(has(html, "mostly backward on stage 64"));
}

}  // namespace foretrain
