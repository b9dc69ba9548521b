#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/file.h"
#include "base/scratch.h"
#include "library/testing.h"

namespace foretrain {
namespace {

constexpr const char* kGpt2 =
    R"({"model": "gpt2", "cluster": "dgx-a100", "gpus": 8, "global_batch": 64, "stack": "megatron"})";

TEST_CASE("a run answers what its session answers, and scores what it predicts") {
  const auto session = held(foretrain_session_open(nullptr));
  REQUIRE(session != nullptr);
  const auto run = held(foretrain_run_open(session.get(), kGpt2));
  REQUIRE(run != nullptr);
  CHECK(taken(foretrain_run_predict(run.get(), nullptr)) ==
        taken(foretrain_answer(session.get(), "predict", kGpt2)));
  for (const char* plan :
       {"", "tp=2", "tp=2,sp=1,zero=1,recompute=full", "pp=2,micro_batch=4", "zero=1,micro_batch=2"}) {
    CAPTURE(plan);
    const std::string whole = taken(foretrain_run_predict(run.get(), plan));
    foretrain_score score;
    REQUIRE(foretrain_run_score(run.get(), plan, &score) == 0);
    CHECK(score.step_s == number(whole, "step_s"));
    CHECK(score.step_low_s == number(whole, "step_low_s"));
    CHECK(score.step_high_s == number(whole, "step_high_s"));
    CHECK(std::round(score.needed_bytes) == number(whole, "needed_bytes"));
    CHECK(score.fit_probability == number(whole, "fit_probability"));
    CHECK(score.verdict == FORETRAIN_FITS);
  }
}

TEST_CASE("a table's scores are those of its plans one by one, and a plan that cannot be says why") {
  const auto session = held(foretrain_session_open("{}"));
  const auto run = held(foretrain_run_open(session.get(), kGpt2));
  const std::int64_t tp[] = {1, 2, 3, FORETRAIN_MISSING}, recompute[] = {0, 2, 0, 1},
                     precision[] = {1, 0, 0, -1};
  const double micro_batch[] = {1, 2, 1, std::nan("")};
  const char* formats[] = {"fp16", "bf16"};
  const foretrain_column columns[] = {{"tp", tp, nullptr, nullptr, 0},
                                      {"recompute", recompute, nullptr, nullptr, 0},
                                      {"micro_batch", nullptr, micro_batch, nullptr, 0},
                                      {"precision", precision, nullptr, formats, 2}};
  double step[4], low[4], high[4], bytes[4], sure[4];
  std::int32_t verdict[4], status[4];
  const foretrain_scores out = {step, low, high, bytes, sure, verdict, status};
  REQUIRE(foretrain_run_score_plans(run.get(), 4, columns, 4, &out) == 0);
  const char* same[] = {"", "tp=2,recompute=full,micro_batch=2,precision=fp16", nullptr,
                        "recompute=selective"};
  for (int i = 0; i < 4; ++i) {
    CAPTURE(i);
    char* why = nullptr;
    REQUIRE(foretrain_run_refusal(run.get(), 4, columns, 4, static_cast<std::size_t>(i), &why) == 0);
    if (same[i] == nullptr) {
      CHECK(status[i] == FORETRAIN_REFUSED);
      CHECK(verdict[i] == -1);
      CHECK(std::isnan(step[i]));
      CHECK(taken(why).find("tp") != std::string::npos);  // 3 does not divide 8 GPUs
      continue;
    }
    CHECK(why == nullptr);
    foretrain_score score;
    REQUIRE(foretrain_run_score(run.get(), same[i], &score) == 0);
    CHECK(status[i] == FORETRAIN_SCORED);
    CHECK(step[i] == score.step_s);
    CHECK(low[i] == score.step_low_s);
    CHECK(high[i] == score.step_high_s);
    CHECK(bytes[i] == score.needed_bytes);
    CHECK(sure[i] == score.fit_probability);
    CHECK(verdict[i] == score.verdict);
  }
  const foretrain_scores nothing = {};
  CHECK(foretrain_run_score_plans(run.get(), 4, columns, 4, &nothing) == 0);
  CHECK(foretrain_run_score_plans(run.get(), 0, nullptr, 0, &nothing) == 0);
}

TEST_CASE("plans of a run may be legal where the one they start from is not") {
  const auto session = held(foretrain_session_open(nullptr));
  const auto run = held(foretrain_run_open(
      session.get(), R"({"model": "gpt2", "cluster": "dgx-a100", "gpus": 8, "global_batch": 4})"));
  REQUIRE(run != nullptr);
  foretrain_score score;
  CHECK(foretrain_run_score(run.get(), "", &score) < 0);  // eight data ranks for four sequences
  CHECK(last_error().find("message")->scalar.find("global_batch 4") != std::string::npos);
  CHECK(foretrain_run_score(run.get(), "tp=2", &score) == 0);
}

TEST_CASE("what fails says why, names the field, and tells whose fault it is") {
  const auto session = held(foretrain_session_open(nullptr));
  CHECK(foretrain_answer(session.get(), "predict", R"({"model": "gpt3"})") == nullptr);
  CHECK(last_error().find("field")->scalar == "model");
  CHECK(last_error().find("kind")->scalar == "input");
  CHECK(foretrain_answer(session.get(), "predict", R"({"gpu": 8})") == nullptr);
  CHECK(last_error().find("message")->scalar.find("gpus") != std::string::npos);  // did you mean
  CHECK(foretrain_answer(session.get(), "predikt", "{}") == nullptr);
  CHECK(last_error().find("message")->scalar.find("predict") != std::string::npos);
  CHECK(foretrain_answer(session.get(), "predict", "{\"model\": ") == nullptr);
  CHECK(last_error().find("line")->scalar == "1");
  CHECK(foretrain_answer(session.get(), "predict", "\xff\xfe") == nullptr);
  CHECK(foretrain_session_open("{\"file\": true}") == nullptr);
  CHECK(foretrain_run_open(session.get(), "{\"model\": \"gpt2\"}") == nullptr);
  CHECK(last_error().find("field")->scalar == "cluster");
  CHECK(foretrain_search_start(session.get(), R"({"model": "gpt2", "cluster": "dgx-a100", "gpus": "x"})") ==
        nullptr);
  CHECK(last_error().find("field")->scalar == "gpus");
}

TEST_CASE("a NULL is refused, not followed") {
  foretrain_score score;
  const foretrain_scores out = {};
  char* why = nullptr;
  CHECK(foretrain_answer(nullptr, "predict", "{}") == nullptr);
  CHECK(last_error().find("field")->scalar == "session");
  CHECK(foretrain_run_open(nullptr, "{}") == nullptr);
  CHECK(foretrain_run_predict(nullptr, "") == nullptr);
  CHECK(foretrain_run_score(nullptr, "", &score) < 0);
  CHECK(foretrain_run_score_plans(nullptr, 0, nullptr, 0, &out) < 0);
  CHECK(foretrain_run_refusal(nullptr, 0, nullptr, 0, 0, &why) < 0);
  CHECK(foretrain_search_start(nullptr, "{}") == nullptr);
  CHECK(foretrain_search_progress(nullptr) == nullptr);
  CHECK(foretrain_search_answer(nullptr) == nullptr);
  CHECK(foretrain_search_wait(nullptr, 0) < 0);
  const auto session = held(foretrain_session_open(nullptr));
  CHECK(foretrain_answer(session.get(), nullptr, "{}") == nullptr);
  const auto run = held(foretrain_run_open(session.get(), kGpt2));
  const foretrain_column without_key = {nullptr, nullptr, nullptr, nullptr, 0};
  CHECK(foretrain_run_score_plans(run.get(), 1, nullptr, 1, &out) < 0);
  CHECK(foretrain_run_score_plans(run.get(), 1, &without_key, 1, &out) < 0);
  const foretrain_column without_values = {"tp", nullptr, nullptr, nullptr, 0};
  CHECK(foretrain_run_score_plans(run.get(), 1, &without_values, 1, &out) < 0);
  CHECK(foretrain_run_refusal(run.get(), 1, nullptr, 0, 1, &why) < 0);
  foretrain_search_cancel(nullptr);
  foretrain_search_close(nullptr);
  foretrain_run_close(nullptr);
  foretrain_session_close(nullptr);
  foretrain_free(nullptr);
}

TEST_CASE("a path is opened where that is allowed, and nowhere else") {
  const Scratch folder;
  const std::string path = folder / "tiny.yaml";
  REQUIRE(
      write_file(path,
                 "hidden: 64\nlayers: 2\nheads: 2\nffn: 256\nmlp: gelu\nnorm: layernorm\npositions: rope\n"
                 "vocab: 512\ntied: true\nbiases: true\n"));
  const std::string request = R"({"kind": "model", "name": ")" + path + "\"}";
  const auto open = held(foretrain_session_open(nullptr));
  CHECK(number(taken(foretrain_answer(open.get(), "show", request.c_str())), "hidden") == 64);
  const auto shut = held(foretrain_session_open(R"({"files": false})"));
  CHECK(foretrain_answer(shut.get(), "show", request.c_str()) == nullptr);
  CHECK(last_error().find("message")->scalar.find("no file is opened") != std::string::npos);
}

TEST_CASE("what its opener has closed, a run still has") {
  auto session = held(foretrain_session_open(nullptr));
  const auto run = held(foretrain_run_open(session.get(), kGpt2));
  session.reset();
  foretrain_score score;
  CHECK(foretrain_run_score(run.get(), "tp=2", &score) == 0);
}

TEST_CASE("the version is the header's") {
  CHECK(foretrain_version_number() == FORETRAIN_VERSION_NUMBER);
  CHECK(std::string(foretrain_version()).starts_with(std::to_string(FORETRAIN_VERSION_MAJOR) + "."));
}

}  // namespace
}  // namespace foretrain
