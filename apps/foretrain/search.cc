// foretrain search: every legal plan, the best of them, and why.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <numeric>
#include <optional>

#include "base/file.h"
#include "base/nearest.h"
#include "base/progress.h"
#include "base/streamed_file.h"
#include "base/text.h"
#include "commands.h"
#include "cost/profile_store.h"
#include "job/run_check.h"
#include "option_words.h"
#include "report/search_report.h"
#include "search/answer.h"

namespace foretrain {
namespace {

constexpr std::int64_t kMostGpus = 10'000'000;
constexpr std::int64_t kMostSeq = 100'000'000;
constexpr std::int64_t kMostBatch = 1'000'000'000;
constexpr std::size_t kMostCounts = 10'000;
constexpr std::size_t kMostTop = 1000;
constexpr std::size_t kDots = 4000;      // of the page's scatter
constexpr int kInterruptedStatus = 130;  // as a shell tells SIGINT

std::atomic<bool> stop_asked = false;

// The first Ctrl-C asks for what there is, the second ends the program.
extern "C" void ask_to_stop(int) {
  stop_asked = true;
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
}

Result<std::int64_t> bounded_count(std::string_view option, const std::string& word, std::int64_t most) {
  TRY_ASSIGN(const std::int64_t count, count_option(option, word));
  if (count > most) return fail(fmt::format("{}: found {}, expected at most {}", option, count, most));
  return count;
}

// A count that the cluster cannot be cut into, in words.
std::optional<std::string> unusable(std::int64_t gpus, const Cluster& cluster) {
  if (gpus > cluster.gpus_per_node && gpus % cluster.gpus_per_node != 0)
    return fmt::format("{} is more than one node, but not a multiple of gpus_per_node {}", gpus,
                       cluster.gpus_per_node);
  if (gpus > cluster.nvlink_domain && cluster.inter.bandwidth == BytesPerSecond())
    return fmt::format("{} is more than {}, and cluster {} states no 'inter' links", gpus,
                       cluster.nvlink_domain, foretrain::quoted(cluster.name));
  return std::nullopt;
}

// "64", "64,128", "64..512": of a range those that the cluster can be cut into.
Result<std::vector<std::int64_t>> gpu_counts(const std::string& text, const Cluster& cluster) {
  std::vector<std::int64_t> counts;
  if (text.empty()) return fail("no gpus: give --gpus");
  for (const std::string_view part : split(text, ',')) {
    const std::size_t dots = part.find("..");
    const std::string low_word(trim(part.substr(0, dots)));
    TRY_ASSIGN(const std::int64_t low, bounded_count("--gpus", low_word, kMostGpus));
    if (low == 0)
      return fail(fmt::format("--gpus: found nothing in {}, expected a count", foretrain::quoted(text)));
    if (dots == std::string_view::npos) {
      if (const auto reason = unusable(low, cluster)) return fail("--gpus: " + *reason);
      counts.push_back(low);
      continue;
    }
    const std::string high_word(trim(part.substr(dots + 2)));
    TRY_ASSIGN(const std::int64_t high, bounded_count("--gpus", high_word, kMostGpus));
    if (high == 0)
      return fail(fmt::format("--gpus: found nothing in {}, expected a count", foretrain::quoted(text)));
    if (low > high)
      return fail(
          fmt::format("--gpus: found {}, expected the smaller number first", foretrain::quoted(part)));
    for (std::int64_t n = low; n <= high && counts.size() <= kMostCounts; ++n)
      if (!unusable(n, cluster)) counts.push_back(n);
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  if (counts.empty() || counts.size() > kMostCounts)
    return fail(fmt::format("--gpus: found {} counts that cluster {} can be cut into, expected 1 to {}",
                            counts.size() > kMostCounts ? "more" : "no", foretrain::quoted(cluster.name),
                            kMostCounts));
  return counts;
}

Result<void> read_problem(const SearchCommandOptions& o, const Catalog& catalog, AnswerRequest& request) {
  Problem& p = request.problem;
  const auto of_option = [](std::string_view option, auto result) {
    using Given = decltype(result);
    return result ? Given(*std::move(result)) : Given(at_option(option, std::move(result).error()));
  };
  if (o.model.empty()) return fail("no model: give --model");
  if (o.cluster.empty()) return fail("no cluster: give --cluster");
  TRY_ASSIGN(p.model, of_option("--model", catalog.model(o.model)));
  TRY_ASSIGN(p.cluster, of_option("--cluster", catalog.cluster(o.cluster)));
  if (o.stack.empty()) request.assumed.emplace_back("stack: generic (none stated)");
  TRY_ASSIGN(p.stack, of_option("--stack", catalog.stack(o.stack.empty() ? "generic" : o.stack)));
  TRY_ASSIGN(p.gpus, gpu_counts(o.gpus, p.cluster));
  TRY_ASSIGN(p.global_batch, bounded_count("--global-batch", o.global_batch, kMostBatch));
  if (p.global_batch == 0) return fail("no global_batch: give --global-batch");
  TRY_ASSIGN(p.seq, bounded_count("--seq", o.seq, kMostSeq));
  if (p.seq == 0) {
    if (p.model.default_seq == 0) return fail("no seq: give --seq");
    p.seq = p.model.default_seq;
    request.assumed.push_back(fmt::format("seq: {} (the model's own)", p.seq));
  }
  // What no plan can help: the rules that the plainest plan breaks by the run's other figures.
  Run run = run_without_plan(p);
  run.gpus = p.gpus.front();
  run.plan.tp = 1;
  run.plan.pp = 1;
  run.global_batch = run.gpus;
  if (auto checked = check_run(run); !checked) return tl::unexpected(std::move(checked).error());
  if (p.global_batch > std::int64_t{1'000'000'000'000} / p.seq)
    return fail(
        fmt::format("global_batch {} * seq {} is more than 10^12 tokens a step", p.global_batch, p.seq));
  return {};
}

Result<void> read_constraints(const SearchCommandOptions& o, AnswerRequest& request) {
  const auto named = [](std::string_view option, const Result<void>& result) -> Result<void> {
    if (result) return {};
    return fail(fmt::format("{}: {}", option, result.error().message));
  };
  for (const std::string& text : o.set)
    TRY(named("--set", request.constraints.add_set(text, request.problem)));
  for (const std::string& text : o.range) TRY(named("--range", request.constraints.add_range(text)));
  for (const std::string& text : o.forbid)
    TRY(named("--forbid", request.constraints.add_forbid(text, request.problem)));
  const std::int64_t layers = request.problem.model.layers();
  for (const auto& stages : request.problem.given_splits)
    if (const auto sum = std::accumulate(stages.begin(), stages.end(), std::int64_t{0}); sum != layers)
      return fail(fmt::format("--set: layers_per_stage: found {}, {} layers in all, expected {}",
                              fmt::join(stages, "-"), sum, layers));
  return {};
}

// "30d", "12h", "90m", "3600s".
Result<double> duration_option(std::string_view option, std::string_view word) {
  const char unit = word.empty() ? ' ' : word.back();
  const double scale = unit == 'd' ? 86400 : unit == 'h' ? 3600 : unit == 'm' ? 60 : unit == 's' ? 1 : 0;
  const auto number = parse_number(word.substr(0, word.empty() ? 0 : word.size() - 1));
  if (scale == 0 || !number || !(*number > 0) || *number > 1e9)
    return fail(fmt::format("{}: found {}, expected a time such as 30d, 12h, 90m or 3600s", option,
                            foretrain::quoted(word)));
  return *number * scale;
}

Result<void> read_headroom(const std::string& word, AnswerRequest& request) {
  if (word.empty()) return {};
  const bool share = word.ends_with('%'), bytes = word.ends_with("GiB");
  const auto number = parse_number(trim(std::string_view(word).substr(0, word.size() - (share   ? 1
                                                                                        : bytes ? 3
                                                                                                : 0))));
  const double most = share ? 99.9 : request.problem.cluster.gpu.usable / gib(1);
  if ((!share && !bytes) || !number || *number < 0 || *number >= most)
    return fail(fmt::format("--headroom: found {}, expected a part of a GPU's {} such as 10% or 8GiB",
                            foretrain::quoted(word), human_bytes(request.problem.cluster.gpu.usable)));
  if (share)
    request.headroom_share = *number / 100;
  else
    request.headroom = gib(*number);
  return {};
}

Result<void> read_limits(const SearchCommandOptions& o, AnswerRequest& request) {
  TRY(read_headroom(o.headroom, request));
  if (!o.tokens.empty()) {
    TRY_ASSIGN(request.tokens, amount_option("--tokens", o.tokens));
  }
  for (const auto& [option, word] : {std::pair{"--deadline", &o.deadline}, {"--budget", &o.budget}})
    if (!word->empty() && !request.tokens)
      return fail(fmt::format("{}: found no --tokens, expected how many it is for", option));
  if (!o.deadline.empty()) {
    TRY_ASSIGN(request.deadline_s, duration_option("--deadline", o.deadline));
  }
  if (!o.budget.empty()) {
    if (!request.problem.cluster.price_per_gpu_hour)
      return fail(fmt::format("--budget: cluster {} states no price_per_gpu_hour",
                              foretrain::quoted(request.problem.cluster.name)));
    TRY_ASSIGN(request.budget_usd, amount_option("--budget", o.budget));
  }
  return {};
}

Result<void> read_rest(const SearchCommandOptions& o, bool writes, AnswerRequest& request) {
  if (!o.objective.empty()) {
    const auto found = std::find(kObjectiveNames.begin(), kObjectiveNames.end(), o.objective);
    if (found == kObjectiveNames.end())
      return fail(fmt::format(
          "--objective: unknown {}{}", foretrain::quoted(o.objective),
          suggestion(o.objective, std::vector<std::string>(kObjectiveNames.begin(), kObjectiveNames.end()))));
    request.options.objective = static_cast<Objective>(found - kObjectiveNames.begin());
  }
  TRY_ASSIGN(const std::int64_t top, bounded_count("--top", o.top, kMostTop));
  if (top > 0) request.top = static_cast<std::size_t>(top);
  TRY_ASSIGN(const std::int64_t threads, bounded_count("--threads", o.threads, 1024));
  request.options.threads = static_cast<int>(threads);
  request.whys = o.why;
  request.what_ifs = o.what_if;
  if (same_file(o.csv, o.html)) return fail("--html: found the file of --csv, expected another");
  for (const std::string* path : {&o.csv, &o.html})
    if (writes && !path->empty()) TRY(check_writable(*path));
  return {};
}

// Some of many, the same whatever the order they come in: those whose numbers scatter to the smallest.
class Sample {
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

struct Answered {
  std::string text;
  bool interrupted = false;
};

Result<Answered> answer_command(const SearchCommandOptions& o, const std::string& presets_folder,
                                Team* team) {
  AnswerRequest request;
  const Catalog catalog(presets_folder);
  const bool first = team == nullptr || team->rank() == 0;
  const ProfileStore store(presets_folder);
  request.costs_for = [&](const Cluster& cluster) -> Result<std::shared_ptr<const CostSource>> {
    auto choice = store.costs_for(cluster, o.profile);
    if (!choice) return fail("--profile: " + choice.error().message);
    request.profile = choice->profile;
    return choice->costs;
  };
  request.options.team = team;
  request.options.stop = &stop_asked;
  std::optional<StreamedFile> csv;
  const auto prepare = [&]() -> Result<void> {
    TRY(read_problem(o, catalog, request));
    TRY(read_constraints(o, request));
    TRY(read_limits(o, request));
    TRY(read_rest(o, first, request));
    TRY(request.costs_for(request.problem.cluster));
    if (o.csv.empty() || !first) return {};
    TRY_ASSIGN(StreamedFile file, StreamedFile::open(o.csv));
    csv.emplace(std::move(file));
    csv->write(search_csv_header());
    return {};
  };
  Result<void> prepared = prepare();
  if (team != nullptr)  // nobody waits for a rank that has given up
    for (const std::string& wrong : team->all_gather(prepared ? "" : prepared.error().message))
      if (prepared && !wrong.empty()) prepared = fail(wrong);
  TRY(prepared);
  Sample sample;
  if (!o.csv.empty() || !o.html.empty())
    request.options.evaluated = [&](const ScoredPlan& plan, const Candidate& candidate) {
      if (csv) csv->write(search_csv_row(request.problem, plan, candidate));
      if (!o.html.empty()) sample.add(plan);
    };
  std::optional<SearchAnswer> answer;
  {
    ProgressBar bar("searching", "plans");
    if (first)
      request.options.progress = [&bar](const SearchProgress& now) {
        const std::string best = now.best > 0 ? "best " + human_seconds(Seconds(now.best)) : "";
        bar.update(now.done, now.all,
                   now.floor > 0 ? fmt::format("{}{}rest over {}", best, best.empty() ? "" : ", ",
                                               human_seconds(Seconds(now.floor)))
                                 : best);
      };
    TRY_ASSIGN(answer, answer_search(request));
  }
  if (!first) return Answered{"", answer->result.interrupted};
  if (csv) TRY(csv->commit());
  if (!o.html.empty()) TRY(write_file(o.html, search_html(*answer, sample.plans())));
  if (answer->result.threads < answer->result.threads_wanted)
    std::fprintf(stderr,
                 "foretrain: the system gave %d of %d threads; the answer is the same, but took longer\n",
                 answer->result.threads, answer->result.threads_wanted);
  if (::isatty(STDERR_FILENO) == 1)
    std::fprintf(stderr, "foretrain: %s plans in %s\n",
                 with_commas(static_cast<std::int64_t>(answer->result.counts.candidates)).c_str(),
                 human_seconds(Seconds(answer->result.seconds)).c_str());
  return Answered{o.json ? search_json(*answer) : search_text(*answer), answer->result.interrupted};
}

}  // namespace

int run_search(const SearchCommandOptions& options, const std::string& presets_folder, Team* team) {
  signal(SIGINT, ask_to_stop);
  signal(SIGTERM, ask_to_stop);
  const auto answered = answer_command(options, presets_folder, team);
  const bool first = team == nullptr || team->rank() == 0;
  if (!answered) return first ? refuse(answered.error()) : 2;
  const int status = first ? answer(answered->text) : 0;
  return status == 0 && answered->interrupted ? kInterruptedStatus : status;
}

}  // namespace foretrain
