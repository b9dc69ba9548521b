// Names and what stands behind them; what operators take.
#include "ask/cost.h"
#include "ask/list.h"
#include "ask/show.h"
#include "base/text.h"
#include "report/list_report.h"
#include "wire/verb.h"

namespace foretrain {
namespace {

class List final : public VerbRequest {
 public:
  void declare(RequestKeys& keys) override {
    keys.word("kind", request_.kind, "models, gpus, clusters, stacks, recipes, schedules or profiles");
  }
  Result<std::string> answer(Session& session) override {
    TRY_ASSIGN(const ListReport report, ask(session, request_));
    return list_json(report);
  }

 private:
  ListRequest request_;
};

class Show final : public VerbRequest {
 public:
  Show() { request_.json = true; }
  void declare(RequestKeys& keys) override {
    keys.word("kind", request_.kind, "model, gpu, cluster, stack, recipe or profile");
    keys.spec("name", request_.name,
              "A preset's name; of a model also a config.json as an object or as text");
    keys.flag("json", request_.json,
              "false: {\"text\": ...}, the file with the origin of each figure; a profile has no other form");
  }
  Result<std::string> answer(Session& session) override {
    TRY_ASSIGN(std::string text, ask(session, request_));
    return request_.json ? std::move(text) : text_answer(text);
  }

 private:
  ShowRequest request_;
};

class Cost final : public VerbRequest {
 public:
  void declare(RequestKeys& keys) override {
    keys.words("words", request_.words,
               "An operator and its sizes: [\"linear\", \"m=8192\", \"k=4096\", \"n=4096\"]");
    keys.content("samples", samples_, "Or a table of samples, as text");
    keys.word("impl", request_.impl, "aten, fused, eager, ...");
    keys.word("pass", request_.pass, "fwd, bwd, dgrad, wgrad or step");
    keys.word("dtype", request_.dtype, "bf16, fp16, fp32, ...");
    keys.spec("gpu", request_.gpu, "A preset's name, or a GPU file as an object or as text");
    keys.word("profile", request_.profile, "A fitted profile's name, or \"analytic\"");
  }
  Result<std::string> answer(Session& session) override {
    // "linear m=8192 k=4096" is one word of JSON and three of the command line.
    std::vector<std::string> words;
    for (const std::string& word : request_.words)
      for (const std::string_view part : split(word, ' '))
        if (!part.empty()) words.emplace_back(part);
    request_.words = std::move(words);
    if (samples_) request_.samples = Sources{samples_->name, false, {*samples_}};
    TRY_ASSIGN(const CostReport report, ask(session, std::move(request_)));
    return cost_json(report);
  }

 private:
  CostRequest request_;
  std::optional<Source> samples_;
};

}  // namespace

std::unique_ptr<VerbRequest> list_verb() { return std::make_unique<List>(); }
std::unique_ptr<VerbRequest> show_verb() { return std::make_unique<Show>(); }
std::unique_ptr<VerbRequest> cost_verb() { return std::make_unique<Cost>(); }

}  // namespace foretrain
