#include "ask/search.h"

#include <doctest/doctest.h>

#include "base/check.h"

namespace foretrain {
namespace {

SearchRequest small() {
  SearchRequest request;
  request.model = "gpt2";
  request.cluster = "dgx-h100";
  request.gpus = "8";
  request.global_batch = "8";
  request.set = {"tp=1,pp=1,zero=1"};
  request.threads = "2";
  return request;
}

std::string field_at_fault(const SearchRequest& request) {
  Session session(no_files());
  const auto prepared = prepare(session, request);  // before who asks opens a file of its own
  REQUIRE(!prepared);
  CHECK(prepared.error().kind == ErrorKind::kInput);
  return prepared.error().field;
}

TEST_CASE("a search answers, and its constraints are spelled in the asker's words") {
  Session session(no_files());
  auto answer = ask(session, small());
  REQUIRE(answer);
  CHECK_FALSE(answer->best.empty());
  CHECK(answer->profile == "h100-80gb-sxm");
  spell(*answer, [](std::string_view field) { return "only-" + std::string(field); });
  CHECK(answer->constraints == std::vector<std::string>{"only-set tp=1", "only-set pp=1", "only-set zero=1"});
}

TEST_CASE("batches and lengths may be lists and ranges, and what does not go together is a point's matter") {
  Session session(no_files());
  SearchRequest request = small();
  request.model = "llama-2-7b";
  request.global_batch = "64ktok,16..32";
  request.seq = "1k..3k,4096,4k";
  const auto prepared = prepare(session, request);
  REQUIRE(prepared);
  const BatchPoints& over = prepared->over;
  CHECK(over.seqs == std::vector<std::string>{"1024", "2048", "3072", "4096"});
  CHECK(over.batches == std::vector<std::string>{"64ktok", "16", "32"});
  REQUIRE(over.points.size() == 12);
  CHECK(over.points[0].global_batch == 64);  // 65,536 tokens
  CHECK(over.points[1].global_batch == 16);
  CHECK(over.points[3].global_batch == 32);
  CHECK(over.points[6].refused.starts_with("found 65536 tokens, expected a multiple of seq 3072"));
  CHECK(over.points[7].refused.empty());
  CHECK(prepared->problem.seq == 1024);
  // A point's own refusal is not the request's, unless it is everyone's.
  request.seq = "3072";
  request.global_batch = "64ktok";
  CHECK(field_at_fault(request) == "global_batch");
  request.global_batch = "16,32";
  request.what_if = {"gpus=16"};
  CHECK(field_at_fault(request) == "what_if");
}

TEST_CASE("errors name the field that is at fault") {
  const auto with = [](auto member, const auto& word) {
    SearchRequest request = small();
    request.*member = word;
    return field_at_fault(request);
  };
  using Words = std::vector<std::string>;
  CHECK(with(&SearchRequest::model, "") == "model");
  CHECK(with(&SearchRequest::model, "gpt2x") == "model");
  CHECK(with(&SearchRequest::cluster, "") == "cluster");
  CHECK(with(&SearchRequest::gpus, "") == "gpus");
  CHECK(with(&SearchRequest::gpus, "12") == "gpus");
  CHECK(with(&SearchRequest::gpus, "16..8") == "gpus");
  CHECK(with(&SearchRequest::global_batch, "") == "global_batch");
  CHECK(with(&SearchRequest::seq, "x") == "seq");
  CHECK(with(&SearchRequest::seq, "1k..512") == "seq");
  CHECK(with(&SearchRequest::seq, "512,") == "seq");
  CHECK(with(&SearchRequest::global_batch, "8,") == "global_batch");
  CHECK(with(&SearchRequest::global_batch, "8..16x") == "global_batch");
  CHECK(with(&SearchRequest::global_batch, "1..1000/500") == "global_batch");
  CHECK(with(&SearchRequest::stack, "megatrn") == "stack");
  CHECK(with(&SearchRequest::profile, "a100-80gb-sxm") == "profile");
  CHECK(with(&SearchRequest::set, Words{"tpp=2"}) == "set");
  CHECK(with(&SearchRequest::set, Words{"layers_per_stage=1-1"}) == "set");
  CHECK(with(&SearchRequest::range, Words{"pp=4..1"}) == "range");
  CHECK(with(&SearchRequest::forbid, Words{"sp=maybe"}) == "forbid");
  CHECK(with(&SearchRequest::why, Words{"cp=2,cp_type=ring"}) == "why");
  CHECK(with(&SearchRequest::why, Words{"expert_sync=0"}) == "why");  // a plan's, but not the search's
  CHECK(with(&SearchRequest::what_if, Words{"gpus=lots"}) == "what_if");
  CHECK(with(&SearchRequest::top, "5000") == "top");
  CHECK(with(&SearchRequest::objective, "tme") == "objective");
  CHECK(with(&SearchRequest::headroom, "10") == "headroom");
  CHECK(with(&SearchRequest::tokens, "0") == "tokens");
  CHECK(with(&SearchRequest::deadline, "30d") == "deadline");
  CHECK(with(&SearchRequest::budget, "1M") == "budget");
  CHECK(with(&SearchRequest::threads, "9999") == "threads");
}

TEST_CASE("a flag is read in a question as it is in a plan") {
  Session session(no_files());
  SearchRequest request = small();
  request.why = {"sp=no", "sp=off", "sp=0"};
  CHECK(prepare(session, request));
}

TEST_CASE("what breaks a rule whatever the plan is nobody's field") {
  SearchRequest request = small();
  request.seq = "4096";
  CHECK(field_at_fault(request).empty());
}

TEST_CASE("a fault while it searches comes back as one, and the session goes on") {
  Session session(no_files());
  auto prepared = prepare(session, small());
  REQUIRE(prepared);
  prepared->options.progress = [](const SearchProgress& now) { CHECK_THAT(now.all == 0); };
  const auto answer = ask(*prepared);
  REQUIRE(!answer);
  CHECK(answer.error().kind == ErrorKind::kFault);
  CHECK(answer.error().text().find("fault: expected now.all == 0") != std::string::npos);
  CHECK(ask(session, small()));
}

TEST_CASE("a search stops when it is told to") {
  Session session(no_files());
  auto prepared = prepare(session, small());
  REQUIRE(prepared);
  const std::atomic<bool> stop = true;
  prepared->options.stop = &stop;
  CHECK(ask(*prepared)->result.interrupted);
}

TEST_CASE("what no plan of the model could have is refused, not searched") {
  const auto refusal = [](const std::string& model, auto member, const std::string& word,
                          const std::string& task = "") {
    SearchRequest request = small();
    request.model = model;
    request.stack = "megatron";
    request.task = task;
    (request.*member) = {word};
    Session session(no_files());
    const auto ready = prepare(session, request);
    return ready ? std::string() : ready.error().message;
  };
  const auto set = &SearchRequest::set;
  CHECK(refusal("mixtral-8x7b", set, "etp=3").find("etp 3 does not divide expert_ffn 14336") !=
        std::string::npos);
  CHECK(refusal("mixtral-8x7b", set, "etp=2").empty());
  CHECK(refusal("gpt2", &SearchRequest::range, "ep=2..4").find("ep needs experts") != std::string::npos);
  CHECK(refusal("gpt2", &SearchRequest::range, "ep=1..4").empty());
  CHECK(refusal("mixtral-8x7b", &SearchRequest::range, "ep=3..3").find("does not divide experts 8") !=
        std::string::npos);
  CHECK(refusal("mixtral-8x7b", set, "capacity_pad=1").find("capacity_pad needs capacity_factor") !=
        std::string::npos);
  // Two of eight experts a token: at most four times the mean.
  CHECK(refusal("mixtral-8x7b", set, "expert_imbalance=9").find("is more than 4") != std::string::npos);
  CHECK(refusal("mixtral-8x7b", set, "expert_imbalance=3").empty());
  CHECK(refusal("gpt2", set, "lora=0", "lora").find("lora=0") != std::string::npos);
}

TEST_CASE("modules of recompute are searched with as a plan names them") {
  SearchRequest request = small();
  request.set.emplace_back("recompute=layernorm+core_attn");
  Session session(no_files());
  const auto ready = prepare(session, request);
  REQUIRE(ready);
  CHECK(ready->problem.given.recompute_modules.has(RecomputeModule::kLayernorm));
  CHECK(ready->constraints.find("recompute")->set_words == std::vector<std::string>{"selective"});
  request.set.back() = "recompute=layernorm,full";
  CHECK(field_at_fault(request) == "set");
}

}  // namespace
}  // namespace foretrain
