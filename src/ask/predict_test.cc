#include "ask/predict.h"

#include <doctest/doctest.h>

namespace foretrain {
namespace {

PredictRequest small() {
  PredictRequest request;
  request.model = "gpt2";
  request.cluster = "dgx-a100";
  request.gpus = "8";
  request.global_batch = "8";
  return request;
}

std::string field_at_fault(const PredictRequest& request) {
  Session session(no_files());
  const auto answer = ask(session, request);
  REQUIRE(!answer);
  CHECK(answer.error().kind == ErrorKind::kInput);
  return answer.error().field;
}

TEST_CASE("without a run and a model it is the built-in example") {
  Session session(no_files());
  const auto answer = ask(session, PredictRequest{});
  REQUIRE(answer);
  CHECK(answer->example);
  REQUIRE(answer->runs.size() == 1);
  CHECK(answer->runs[0].name.empty());
  CHECK(answer->runs[0].run.model.name == "gpt-neox-20b");
}

TEST_CASE("a run is predicted from words, from its text, or both") {
  Session session(no_files());
  const auto words = ask(session, small());
  REQUIRE(words);
  CHECK_FALSE(words->example);
  PredictRequest text;
  text.runs = {{"mine.yaml", "{model: gpt2, cluster: dgx-a100, gpus: 8, global_batch: 64}"}};
  text.global_batch = "8";
  const auto both = ask(session, text);
  REQUIRE(both);
  CHECK(both->runs[0].name == "mine.yaml");
  CHECK(both->runs[0].prediction.step.value == words->runs[0].prediction.step.value);
  CHECK_FALSE(both->runs[0].view);
  text.chart = true;
  CHECK(ask(session, text)->runs[0].view);
}

TEST_CASE("errors name the field that is at fault") {
  const auto with = [](auto member, const std::string& word) {
    PredictRequest request = small();
    request.*member = word;
    return field_at_fault(request);
  };
  CHECK(with(&PredictRequest::model, "gpt3") == "model");
  CHECK(with(&PredictRequest::cluster, "perlmuter") == "cluster");
  CHECK(with(&PredictRequest::cluster, "") == "cluster");
  CHECK(with(&PredictRequest::stack, "megatrn") == "stack");
  CHECK(with(&PredictRequest::gpus, "12x") == "gpus");
  CHECK(with(&PredictRequest::global_batch, "0") == "global_batch");
  CHECK(with(&PredictRequest::seq, "-1") == "seq");
  CHECK(with(&PredictRequest::plan, "pt=2") == "plan");
  CHECK(with(&PredictRequest::plan, "tp=5") == "plan");
  CHECK(with(&PredictRequest::profile, "h200") == "profile");
  CHECK(with(&PredictRequest::tokens, "300Q") == "tokens");
  PredictRequest many;
  many.runs.resize(17);
  CHECK(field_at_fault(many) == "runs");
  PredictRequest long_step;
  long_step.global_batch = "51200000";
  long_step.trace = true;
  CHECK(field_at_fault(long_step) == "trace");
}

TEST_CASE("what is wrong inside a text is told with its place") {
  Session session(no_files());
  PredictRequest request;
  request.runs = {{"page", "model: gpt2\nglobl_batch: 8\n"}};
  CHECK(ask(session, request).error().text() ==
        "page:2:1: error: unknown key 'globl_batch'; did you mean 'global_batch'?");
}

TEST_CASE("where there are no files a path is refused, in a word and in a text") {
  Session session(no_files());
  PredictRequest request = small();
  request.model = "/etc/passwd";
  CHECK(ask(session, request).error().text() ==
        "foretrain: error: model: /etc/passwd: found a path, expected a name: no files are read here");
  request = {};
  request.runs = {{"page", "{model: ../gpt2.yaml, cluster: dgx-a100, gpus: 8, global_batch: 8}"}};
  CHECK(ask(session, request).error().message ==
        "../gpt2.yaml: found a path, expected a name: no files are read here");
  request = small();
  request.profile = "/tmp";
  CHECK_FALSE(ask(session, request));
}

}  // namespace
}  // namespace foretrain
