#include "ask/over.h"

#include <doctest/doctest.h>

#include "base/files.h"
#include "base/text.h"

namespace foretrain {
namespace {

// Llama-3-8B on a DGX H100, of one GPU.
PredictRequest alone() {
  PredictRequest request;
  request.model = "llama-3-8b";
  request.cluster = "dgx-h100";
  request.stack = "megatron";
  request.gpus = "1";
  request.seq = "2048";
  request.global_batch = "4";
  request.plan = "tp=1,pp=1";
  return request;
}

OverAnswer over(const PredictRequest& request, const std::string& text) {
  Session session(no_files());
  auto answer = ask(session, OverRequest{request, text});
  if (!answer) FAIL(answer.error().text());
  return *std::move(answer);
}

std::string refusal(const PredictRequest& request, const std::string& text) {
  Session session(no_files());
  const auto answer = ask(session, OverRequest{request, text});
  return answer ? "answered" : answer.error().text();
}

TEST_CASE("a GPU by itself does not notice the network") {
  const OverAnswer answer = over(alone(), "inter_gbps=1..3200");
  REQUIRE(answer.points.size() == 13);
  for (const OverPoint& point : answer.points)
    CHECK(point.figures.step.value == answer.points[0].figures.step.value);
}

TEST_CASE("a rank without neighbours takes as long for each micro-batch: twice as many, twice the addition") {
  PredictRequest request = alone();
  request.profile = "analytic";  // whose times know no clock: more work makes no chip warmer
  const OverAnswer answer = over(request, "global_batch=2,4,8");
  const auto step = [&](std::size_t i) { return answer.points[i].figures.step.value; };
  CHECK(step(2) - step(1) == doctest::Approx(2 * (step(1) - step(0))));
  CHECK(step(1) > step(0));
}

TEST_CASE("a slower network never makes a step shorter, and in the end is most of it") {
  PredictRequest request = alone();
  request.gpus = "16";
  request.global_batch = "64";
  request.plan = "tp=8";
  const OverAnswer answer = over(request, "inter_gbps=1..1024");
  for (std::size_t i = 1; i < answer.points.size(); ++i)
    CHECK(answer.points[i].figures.step.value <= answer.points[i - 1].figures.step.value);
  CHECK(answer.points[0].figures.most() == StepCause::kGradientReduce);
}

// Through other words, so through none of the sharing between points.
TEST_CASE("each point is what a prediction of its own says, bit by bit") {
  PredictRequest request = alone();
  request.gpus = "16";
  request.global_batch = "32";
  const OverAnswer answer = over(request, "tp=1,2,4,8,seq=1024,4096");
  for (std::size_t i = 0; i < answer.points.size(); ++i) {
    PredictRequest one = request;
    one.plan = "tp=" + answer.axes[0].words[i / 2] + ",pp=1";
    one.seq = answer.axes[1].words[i % 2];
    Session session(no_files());
    const auto predicted = ask(session, one);
    REQUIRE(predicted.has_value());
    const Prediction& p = predicted->runs[0].prediction;
    const OverFigures& f = answer.points[i].figures;
    CAPTURE(answer.place(i));
    CHECK(f.step.value == p.step.value);
    CHECK(f.step.high() == p.step.high());
    CHECK(f.needed == p.needed);
    CHECK(f.breakdown == p.breakdown);
  }
}

TEST_CASE("a point that cannot run says why, and the others are there") {
  PredictRequest request = alone();
  request.gpus = "8";
  request.global_batch = "8";
  const OverAnswer answer = over(request, "tp=1..16");
  REQUIRE(answer.points.size() == 5);
  CHECK(answer.points[3].runs());
  CHECK_FALSE(answer.points[4].runs());
  CHECK(answer.points[4].refused.find("tp") != std::string::npos);
  CHECK(answer.base.plan.tp == 1);
}

TEST_CASE("where no point can run, the first one's reason is the answer's") {
  PredictRequest request = alone();
  CHECK(refusal(request, "tp=2,4") != "answered");
  request.global_batch.clear();
  CHECK(refusal(request, "seq=1k..4k").find("global_batch") != std::string::npos);
  CHECK(refusal(request, "model=llama-3-8c") ==
        "foretrain: error: over: unknown model 'llama-3-8c'; did you mean 'llama-3-8b'?");
}

TEST_CASE("tokens of a batch stay so many where sequences become longer") {
  PredictRequest request = alone();
  request.global_batch = "32ktok";
  const OverAnswer answer = over(request, "seq=1k..4k");
  CHECK(answer.points[0].figures.global_batch == 32);
  CHECK(answer.points[2].figures.global_batch == 8);
}

TEST_CASE("a figure of the GPU that operators follow is told to have been fitted") {
  CHECK(over(alone(), "inter_gbps=1,2").notes.empty());
  const OverAnswer answer = over(alone(), "hbm_gbytes=2000..8000");
  REQUIRE(answer.notes.size() == 1);
  CHECK(answer.points[0].figures.step.value > answer.points[2].figures.step.value);
}

}  // namespace
}  // namespace foretrain
