#include "report/fit_report.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace foretrain;

namespace {

// A spread of ln(1.1) / kZ80, so that the 80 % interval is 1/1.1 to 1.1: -9.1 % to +10 %.
OperatorModelView example_model() {
  OperatorModelView model;
  model.key = {OperatorKind::kLinear, Impl::kAten, PassKind::kForward, Dtype::kBf16};
  model.facts.samples = 1240;
  model.facts.error = 0.021;
  model.facts.spread = std::log(1.1) / kZ80;
  model.facts.spread_outside = std::log(1.25) / kZ80;
  model.facts.size_low = {128, 4096, 1024};
  model.facts.size_high = {8192, 4096, 11008};
  return model;
}

FitReport example() {
  FitReport report;
  report.gpu = "x1";
  report.samples_name = "a<b.csv";
  report.read = 1250;
  report.used = 1246;
  report.rejections = {{"linear aten fwd bf16", "outlier", 4, 1244, "m=1 k=1 n=1: 3 us"}};
  report.models = {example_model()};
  report.too_few = {"gelu fused fwd bf16"};
  return report;
}

}  // namespace

TEST_CASE("a size that was not varied is told as one number") {
  CHECK(range_text(example_model()) == "m=128..8192 k=4096 n=1024..11008");
}

TEST_CASE("text: what was read, what was rejected, the models, what is left to physics") {
  FitReport report = example();
  report.written = "my-profile";
  CHECK(fit_text(report) == R"(samples   1,250 read, 1,246 used, 4 rejected

rejected
  linear aten fwd bf16       4 of  1,244  outlier     m=1 k=1 n=1: 3 us

fitted (error: mean absolute, on shapes a model has not seen)
  operator  impl  pass  dtype  samples   error  80 % interval      outside             clocked  origin        sampled sizes
  linear    aten  fwd   bf16     1,240  2.10 %  -9.1 % to +10.0 %  -20.0 % to +25.0 %        -  interpolated  m=128..8192 k=4096 n=1024..11008

too few samples, left to physics
  gelu fused fwd bf16

written: my-profile
)");
}

TEST_CASE("the study's mean leaves out splits that a model has no samples for") {
  FitReport report;
  const ModelKey linear{}, gelu{OperatorKind::kGelu};
  report.study = {{linear, 100, 0.01, 0.03, 0.02}, {gelu, 50, 0.03, -1, 0.04}};
  const std::string text = fit_text(report);
  CHECK(text.find("gelu      aten  fwd   fp16        50         3.00 %              -         4.00 %") !=
        std::string::npos);
  CHECK(text.find("mean                             150         2.00 %         3.00 %         3.00 %") !=
        std::string::npos);
}

TEST_CASE("the learning curve has a column a number of samples, empty where a model has fewer") {
  FitReport report;
  const ModelKey linear{}, gelu{OperatorKind::kGelu};
  report.curve = {{linear, 25, 0.08}, {linear, 50, 0.04}, {gelu, 25, 0.02}};
  CHECK(fit_text(report).ends_with(R"(
  operator  impl  pass  dtype      25      50
  linear    aten  fwd   fp16   8.00 %  4.00 %
  gelu      aten  fwd   fp16   2.00 %       -
)"));
}

TEST_CASE("JSON tells the same; parts nobody asked for are not there") {
  const std::string json = fit_json(example());
  CHECK(json.find("\"rejected\": 4") != std::string::npos);
  CHECK(json.find("\"reason\": \"outlier\"") != std::string::npos);
  CHECK(json.find("\"error\": 0.021") != std::string::npos);
  CHECK(json.find("study") == std::string::npos);
  CHECK(json.find("learning_curve") == std::string::npos);
  CHECK(json.find("written") == std::string::npos);
}

TEST_CASE("HTML: three pictures a model, nothing from elsewhere, text escaped") {
  FitReport report = example();
  report.scatters = {{example_model().key, {{10, 11}, {100, 95}, {1000, 1000}}}};
  const std::string html = fit_html(report);
  std::size_t pictures = 0;
  for (std::size_t at = html.find("<svg"); at != std::string::npos; at = html.find("<svg", at + 1))
    ++pictures;
  CHECK(pictures == 3);
  CHECK(html.find("a&lt;b.csv") != std::string::npos);
  CHECK(html.find("http") == std::string::npos);
  CHECK(html.find("<script") == std::string::npos);
  CHECK(html.find("nan") == std::string::npos);
}

TEST_CASE("HTML: one sample, or all equal, still has axes") {
  FitReport report = example();
  report.scatters = {{example_model().key, {{10, 10}}}};
  const std::string html = fit_html(report);
  CHECK(html.find("nan") == std::string::npos);
  CHECK(html.find("inf") == std::string::npos);
}
