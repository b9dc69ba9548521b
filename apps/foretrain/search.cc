// foretrain search: every legal plan, the best of them, and why.
#include "ask/search.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <optional>
#include <utility>

#include "ask/launch.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/streamed_file.h"
#include "base/text.h"
#include "command.h"
#include "job_options.h"
#include "output.h"
#include "report/calibration_report.h"
#include "report/search_report.h"
#include "report/sweep_report.h"
#include "run_source.h"
#include "search/frameworks.h"

namespace foretrain {
namespace {

constexpr std::size_t kDots = 4000;      // of the page's scatter
constexpr int kInterruptedStatus = 130;  // as a shell tells SIGINT

std::atomic<bool> stop_asked = false;

// The first Ctrl-C asks for what there is, the second ends the program.
extern "C" void ask_to_stop(int) {
  stop_asked = true;
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
}

// Some of many, the same whatever the order they come in: those whose numbers scatter to the smallest.
class SomePlans {
 public:
  void add(const ScoredPlan& plan) {
    const std::uint64_t place = (plan.index + 1) * 0x9e3779b97f4a7c15ull;
    if (kept_.size() == kDots && place >= kept_.front().first) return;
    kept_.emplace_back(place, plan);
    std::push_heap(kept_.begin(), kept_.end(), order);
    if (kept_.size() <= kDots) return;
    std::pop_heap(kept_.begin(), kept_.end(), order);
    kept_.pop_back();
  }
  std::vector<ScoredPlan> plans() const {
    auto sorted = kept_;
    std::sort(sorted.begin(), sorted.end(), order);
    std::vector<ScoredPlan> out;
    for (const auto& [place, plan] : sorted) out.push_back(plan);
    return out;
  }

 private:
  using Placed = std::pair<std::uint64_t, ScoredPlan>;
  static bool order(const Placed& a, const Placed& b) { return a.first < b.first; }
  std::vector<Placed> kept_;
};

// "best 6.48 s, at most 4.2 % from the best".
std::string progress_note(const SearchProgress& now) {
  const std::string which = now.points > 1 ? fmt::format("search {} of {}", now.point + 1, now.points) : "";
  if (now.best <= 0) return which;
  const std::string best = which + (which.empty() ? "best " : ": best ") + human_seconds(Seconds(now.best));
  if (!now.gap) return best;
  if (*now.gap <= 0) return best + ", none is better";
  return fmt::format("{}, another at most {:.1f} % better", best, 100 * *now.gap);
}

// Shows how far it is while it works.
template <class Answer>
Answer watched(AnswerRequest& request, bool shows, Answer (*answer)(const AnswerRequest&)) {
  ProgressBar bar("searching", "plans");
  if (shows)
    request.options.progress = [&bar](const SearchProgress& now) {
      bar.update(now.done, now.all, progress_note(now));
    };
  return answer(request);
}

void note_threads(const SearchResult& result) {
  if (result.threads < result.threads_wanted)
    std::fprintf(stderr,
                 "foretrain: the system gave %d of %d threads; the answer is the same, but took longer\n",
                 result.threads, result.threads_wanted);
}

class Search final : public Command {
 public:
  const char* name() const override { return "search"; }
  const char* what() const override {
    return "The best plan out of all of them, what limits it, and why not another";
  }
  const char* example() const override {
    return "foretrain search --model llama-3-70b --cluster dgx-h100 --gpus 256 --global-batch 1024 --seq "
           "8192";
  }
  void declare(Options& options) override {
    SearchRequest& r = request_;
    options.argument("FILE", run_files_, "A run whose plan is sought, as predict takes it; - is stdin",
                     Takes::kFile);
    declare_job(options, r, "GPUs in all: 64, a list 64,128, or a range 64..512");
    options.option("--calibration", "FOLDER", r.calibration, kCalibrationHelp, Takes::kFolder);
    options.group("Which plans");
    options.repeated("--set", "K=V", r.set, "Only these values: tp=8, zero=1,2", Takes::kDimension);
    options.repeated("--range", "K=A..B", r.range, "Only values from one to another: pp=1..16",
                     Takes::kRange);
    options.repeated("--forbid", "K=V", r.forbid, "Not these values: schedule=gpipe", Takes::kDimension);
    options.option("--headroom", "H", r.headroom, "Memory to leave free on every GPU: 10% or 8GiB");
    options.group("Which is best");
    options.option("--objective", "O", r.objective, "time (without it), money, memory or energy",
                   {"time", "money", "memory", "energy"});
    options.option("--tokens", "T", r.tokens, kTokensHelp);
    options.option("--deadline", "D", r.deadline, "Only plans that train on these tokens in time: 30d, 12h");
    options.option("--budget", "USD", r.budget, "Only plans that do so for this money: 1.5M (USD)");
    options.group("What is told");
    options.option("--top", "K", r.top, "How many rows to show: 10 without it, at most 1000");
    options.flag("--all", all_, "Every plan by itself, not one row a tp, pp, dp, ep, cp and zero");
    options.repeated("--why", "PLAN", r.why, "Why this plan is not the best, cause by cause: tp=4,pp=2",
                     Takes::kPlan);
    options.repeated("--what-if", "K=V", r.what_if,
                     "The best with one thing changed: gpus=512, inter_gbps=800", Takes::kFigure);
    options.option("--csv", "F.csv", csv_,
                   "Also every plan that was evaluated; of several batches or lengths the best of each",
                   Takes::kFile);
    options.option("--html", "F.html", html_, "Also a page with a scatter and the Pareto front",
                   Takes::kFile);
    options.option(
        "--launch", "FRAMEWORK", r.launch,
        "In place of the list a script that starts the best plan: megatron, megatron-bridge, torchtitan, "
        "nanotron, deepspeed or accelerate",
        {"megatron", "megatron-bridge", "torchtitan", "nanotron", "deepspeed", "accelerate"});
    options.flag("--json", json_, "Answer in JSON");
    options.group("How long it takes");
    options.option("--threads", "N", r.threads, "Threads; without it, as many as the machine has");
    options.option("--time", "T", r.time,
                   "Tell the best so far after this time, and how far it may be off: 5s");
  }

  Result<int> run(Session& session, Team* team) override {
    const bool first = team == nullptr || team->rank() == 0;
    for (const std::string& file : run_files_) {
      TRY_ASSIGN(Source source, read_run_source(session, file));
      request_.runs.push_back(std::move(source));
    }
    signal(SIGINT, ask_to_stop);  // not before: stdin may keep it waiting, and there is nothing to tell yet
    signal(SIGTERM, ask_to_stop);
    const auto answered = search(session, team);
    if (answered) return *answered;
    if (team != nullptr && answered.error().kind != ErrorKind::kInput)
      team->give_up(refuse(answered.error(), words()));
    if (!first) return 2;
    return tl::unexpected(answered.error());
  }

 private:
  FieldWords words() const {
    return [this](std::string_view field) { return word(field); };
  }

  Result<void> check_outputs() const {
    if (same_file(csv_, html_))
      return fail_field("html", "found the file of " + marked("csv") + ", expected another");
    for (const std::string* path : {&csv_, &html_})
      if (!path->empty()) TRY(check_output(*path));
    if (takes_stdout() && (json_ || !request_.launch.empty()))
      return fail_field(is_stdout(html_) ? "html" : "csv",
                        "found stdout, where " + marked(json_ ? "json" : "launch") + " goes");
    return {};
  }

  Result<AnswerRequest> prepared(Session& session, bool writes, std::optional<StreamedFile>& csv) const {
    TRY_ASSIGN(AnswerRequest request, prepare(session, request_));
    if (!writes) return request;
    TRY(check_outputs());
    if (all_ && request.over.several())
      return fail_field("all", "is of one search, but several batches or lengths are asked for");
    if (csv_.empty() || request.over.several()) return request;
    if (is_stdout(csv_)) {
      TRY(write_output(csv_, search_csv_header()));
      return request;
    }
    TRY_ASSIGN(StreamedFile file, StreamedFile::open(csv_));
    csv.emplace(std::move(file));
    csv->write(search_csv_header());
    return request;
  }

  // The exit status of an answer, which the first rank tells.
  Result<int> search(Session& session, Team* team) const {
    const bool first = team == nullptr || team->rank() == 0;
    std::optional<StreamedFile> csv;
    Result<AnswerRequest> request = prepared(session, first, csv);
    if (team != nullptr)  // nobody waits for a rank that has given up
      for (const std::string& wrong : team->all_gather(request ? "" : message_of(request.error(), words())))
        if (request && !wrong.empty()) request = fail(wrong);
    TRY(request);
    request->options.team = team;
    request->options.stop = &stop_asked;
    return request->over.several() ? tell_sweep(session, *request, first)
                                   : tell_search(session, *request, first, csv);
  }

  // Of several batches or lengths.
  Result<int> tell_sweep(Session& session, AnswerRequest& request, bool first) const {
    TRY_ASSIGN(SweepAnswer answer, watched<Result<SweepAnswer>>(request, first, ask_sweep));
    const int interrupted = answer.interrupted && stop_asked ? kInterruptedStatus : 0;
    if (!first) return interrupted;
    TRY(stand(session, request_, answer));
    spell(answer, words());
    if (!csv_.empty()) TRY(write_output(csv_, sweep_csv(answer)));
    if (!html_.empty()) TRY(write_output(html_, sweep_html(answer)));
    note_threads(answer.any().result);
    const int status = takes_stdout() ? 0 : json_ ? tell(sweep_json(answer)) : show_text(sweep_text(answer));
    return status == 0 ? interrupted : status;
  }

  // Whether a file that is asked for goes there, and so nothing else.
  bool takes_stdout() const { return is_stdout(csv_) || is_stdout(html_); }

  // The list, or the launch of the best.
  Result<std::string> told(const Session& session, const SearchAnswer& answer, SearchList list,
                           const Standing* standing) const {
    if (request_.launch.empty() && json_) return search_json(answer, nullptr, standing);
    if (request_.launch.empty())
      return search_text(answer, list) + (standing == nullptr ? "" : "\n" + standing_text(*standing));
    TRY_ASSIGN(const WholeLaunch whole,
               launch_of_best(session.catalog(), answer, *find_launch_format(request_.launch)));
    return json_ ? search_json(answer, &whole, standing) : launch_text(whole, false);
  }

  Result<int> tell_search(Session& session, AnswerRequest& request, bool first,
                          std::optional<StreamedFile>& csv) const {
    SomePlans dots;
    Frameworks frameworks(request.problem, csv_.empty() ? std::vector<Stack>{} : request.frameworks());
    constexpr std::size_t kRowsAtOnce = std::size_t{1} << 20;
    std::string rows;  // on their way to stdout
    Result<void> told_rows;
    if (!csv_.empty() || !html_.empty())
      request.options.evaluated = [&](const ScoredPlan& plan, const Candidate& candidate) {
        if (!csv_.empty()) {
          const std::string row =
              search_csv_row(request.problem, plan, candidate, frameworks.that_launch(candidate));
          if (csv)
            csv->write(row);
          else
            rows += row;
          if (rows.size() >= kRowsAtOnce && told_rows)
            told_rows = write_output(csv_, std::exchange(rows, {}));
        }
        if (!html_.empty()) dots.add(plan);
      };
    TRY_ASSIGN(SearchAnswer answer, watched<Result<SearchAnswer>>(request, first, ask));
    // To stop at a time that was given is an answer.
    const int interrupted = answer.result.interrupted && stop_asked ? kInterruptedStatus : 0;
    if (!first) return interrupted;
    TRY_ASSIGN(const std::optional<Standing> standing, stand(session, request_, answer));
    spell(answer, words());
    const SearchList list = all_ ? SearchList::kAll : SearchList::kFamilies;
    if (csv) TRY(csv->commit());
    TRY(told_rows);
    if (!rows.empty()) TRY(write_output(csv_, rows));
    if (!html_.empty()) TRY(write_output(html_, search_html(answer, dots.plans(), list)));
    note_threads(answer.result);
    if (::isatty(STDERR_FILENO) == 1)
      std::fprintf(stderr, "foretrain: %s plans in %s\n",
                   with_commas(static_cast<std::int64_t>(answer.result.counts.candidates)).c_str(),
                   human_seconds(Seconds(answer.result.seconds)).c_str());
    TRY_ASSIGN(const std::string text, told(session, answer, list, standing ? &*standing : nullptr));
    const bool is_plain = json_ || !request_.launch.empty();
    const int status = takes_stdout() ? 0 : is_plain ? tell(text) : show_text(text);
    return status == 0 ? interrupted : status;
  }

  SearchRequest request_;
  std::vector<std::string> run_files_;
  std::string csv_, html_;
  bool json_ = false, all_ = false;
};

}  // namespace

std::unique_ptr<Command> search_command() { return std::make_unique<Search>(); }

}  // namespace foretrain
