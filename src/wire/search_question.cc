#include "wire/search_question.h"

#include "ask/launch.h"
#include "base/json.h"
#include "report/search_report.h"
#include "report/sweep_report.h"
#include "wire/error_json.h"
#include "wire/job_keys.h"
#include "wire/verb.h"

namespace foretrain {

void SearchQuestion::declare(RequestKeys& keys) {
  SearchRequest& r = request_;
  keys.content("run", run_, "A run whose plan is sought, as predict takes it", true);
  declare_job(keys, r);
  keys.file("calibration", r.calibration, kCalibrationKeyHelp);
  keys.words("set", r.set, "Only these values: [\"tp=8\", \"zero=1,2\"]");
  keys.words("range", r.range, "Only values from one to another: [\"pp=1..16\"]");
  keys.words("forbid", r.forbid, "Not these values: [\"schedule=gpipe\"]");
  keys.word("headroom", r.headroom, "Memory to leave free on every GPU: \"10%\" or \"8GiB\"");
  keys.word("objective", r.objective, "time (without it), money, memory or energy");
  keys.word("top", r.top, "How many plans to tell: 10 without it, at most 1000");
  keys.word("tokens", r.tokens, kTokensKeyHelp);
  keys.word("deadline", r.deadline, "Only plans that train on these tokens in time: \"30d\"");
  keys.word("budget", r.budget, "Only plans that do so for this money: 1.5e6");
  keys.words("why", r.why, "Why these plans are not the best: [\"tp=4,pp=2\"]");
  keys.words("what_if", r.what_if, "The best with one thing changed: [\"gpus=512\"]");
  keys.word("threads", r.threads, "Threads, at most as many as the face gives to a search");
  keys.word("time", r.time, "Tell the best so far after this time: \"5s\"");
  keys.word("launch", r.launch,
            "Also what starts the best plan: megatron, megatron-bridge, torchtitan, nanotron, deepspeed or "
            "accelerate");
}

Result<void> SearchQuestion::prepare(Session& session) {
  if (run_) request_.runs.push_back(*std::move(run_));
  TRY_ASSIGN(prepared_, foretrain::prepare(session, request_));
  TRY_ASSIGN(footing_, footing(session, request_));
  return {};
}

Result<std::string> SearchQuestion::answer(const Session& session) const {
  if (prepared_.over.several()) {
    TRY_ASSIGN(SweepAnswer answer, ask_sweep(prepared_));
    if (footing_) stand(*footing_, answer);
    spell(answer, option_of_field);
    return sweep_json(answer);
  }
  TRY_ASSIGN(SearchAnswer answer, ask(prepared_));
  const std::optional<Standing> stands = footing_ ? stand(*footing_, answer) : std::nullopt;
  const Standing* standing = stands ? &*stands : nullptr;
  spell(answer, option_of_field);
  if (request_.launch.empty()) return search_json(answer, nullptr, standing);
  TRY_ASSIGN(const WholeLaunch whole,
             launch_of_best(session.catalog(), answer, *find_launch_format(request_.launch)));
  return search_json(answer, &whole, standing);
}

std::string progress_json(const SearchProgress& progress) {
  JsonWriter w;
  w.begin_object().key("decided").value(progress.done).key("all").value(progress.all).key("best_s");
  progress.best > 0 ? w.value(progress.best) : w.null();
  w.key("gap");
  progress.gap ? w.value(*progress.gap) : w.null();
  w.key("point").value(static_cast<std::uint64_t>(progress.point + 1));
  w.key("points").value(static_cast<std::uint64_t>(progress.points)).end_object();
  return w.text();
}

namespace {

class Search final : public VerbRequest {
 public:
  void declare(RequestKeys& keys) override { question_.declare(keys); }
  Result<std::string> answer(Session& session) override {
    TRY(question_.prepare(session));
    return question_.answer(session);
  }

 private:
  SearchQuestion question_;
};

}  // namespace

std::unique_ptr<VerbRequest> search_verb() { return std::make_unique<Search>(); }

}  // namespace foretrain
