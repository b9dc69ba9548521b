#include "ask/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

#include "ask/guard.h"
#include "ask/launch.h"
#include "ask/run_file.h"
#include "ask/search_calibration.h"
#include "ask/search_points.h"
#include "ask/words.h"
#include "base/did_you_mean.h"
#include "base/field_mark.h"
#include "base/text.h"
#include "base/threads.h"
#include "cost/scaled_cost.h"
#include "job/expert_check.h"
#include "job/fine_tuning.h"
#include "job/launch_check.h"
#include "job/parse_run.h"
#include "job/precision.h"
#include "job/run_check.h"
#include "spec/choice.h"
#include "spec/documents_text.h"

namespace foretrain {
namespace {

constexpr std::int64_t kMostTop = 1000;
constexpr std::int64_t kMostThreads = 1024;

Result<void> read_problem(const SearchRequest& r, const Catalog& catalog, AnswerRequest& out) {
  Problem& p = out.problem;
  if (r.model.empty() && p.model.blocks.empty()) return not_given("model");
  if (r.cluster.empty()) return not_given("cluster");
  if (!r.model.empty()) {
    TRY_ASSIGN(p.model, of_field("model", catalog.model(r.model)));
  }
  for (const std::string& words : p.model.assumed) out.assumed.push_back("model: " + words);
  TRY_ASSIGN(p.cluster, of_field("cluster", catalog.cluster(r.cluster)));
  if (r.stack.empty()) out.assumed.emplace_back("stack: generic (none stated)");
  TRY_ASSIGN(p.stack, of_field("stack", catalog.stack(r.stack.empty() ? "generic" : r.stack)));
  if (r.gpus.empty()) return not_given("gpus");
  TRY_ASSIGN(p.gpus, gpu_counts(r.gpus, p.cluster));
  if (!r.documents.empty()) {
    TRY_ASSIGN(p.documents, of_field("documents", parse_documents(r.documents)));
  }
  return read_points(r, out);
}

// Of several searches only what each has of its own is told.
Result<void> check_several(const SearchRequest& r, const BatchPoints& over) {
  if (!over.several()) return {};
  for (const auto& [field, given] : {std::pair{"why", !r.why.empty()},
                                     {"what_if", !r.what_if.empty()},
                                     {"top", !r.top.empty()},
                                     {"launch", !r.launch.empty()}})
    if (given)
      return fail_field(field, fmt::format("is of one search, but {} and {} ask for {}: each has its best",
                                           marked("global_batch"), marked("seq"), over.points.size()));
  return {};
}

// Rules of the stack that speak of nothing but what every plan has.
Result<void> check_launch(Run run) {
  std::erase_if(run.stack.rules, [](const LaunchRule& rule) {
    const auto varies = [](const TraitValues& values) {
      return find_dimension(key_of(values.trait)) != nullptr || values.trait == Trait::kEven;
    };
    return std::any_of(rule.plan.begin(), rule.plan.end(), varies) ||
           std::any_of(rule.needs.begin(), rule.needs.end(), varies);
  });
  run.plan.dp = 1;
  if (auto reason = launch_refusal(run)) return fail(*std::move(reason));
  return {};
}

// What every plan has must go with model and stack, and with one of the recipes that are set, or none would be legal.
Result<void> check_given(const Problem& p, const Constraints& constraints) {
  Run run = run_without_plan(p);
  run.gpus = p.gpus.front();
  run.plan = p.given;
  const Constraint* precision = constraints.find("precision");
  const std::vector<std::string> recipes = precision != nullptr && !precision->set_words.empty()
                                               ? precision->set_words
                                               : std::vector{run.plan.precision};
  Result<void> checked;
  for (const std::string& recipe : recipes) {
    run.plan.precision = recipe;
    checked = check_precision(run);
    if (checked) break;
  }
  TRY(checked);
  TRY(check_fine_tuning(run));
  TRY(check_expert_choices(run, true));
  return check_launch(run);
}

Result<void> read_task(const SearchRequest& r, AnswerRequest& out) {
  std::optional<TrainingTask> task;
  if (!r.task.empty()) {
    TRY_ASSIGN(task, of_field("task", parse_choice<TrainingTask>(r.task, kTaskNames)));
  }
  return of_field("task", apply_task(task, out.problem.given, out.assumed));
}

Result<void> read_constraints(const SearchRequest& r, AnswerRequest& out) {
  out.problem.given.lora = kRankNotStated;
  for (const std::string& text : r.set) TRY(of_field("set", out.constraints.add_set(text, out.problem)));
  for (const std::string& text : r.range)
    TRY(of_field("range", out.constraints.add_range(text, out.problem)));
  for (const std::string& text : r.forbid)
    TRY(of_field("forbid", out.constraints.add_forbid(text, out.problem)));
  TRY(read_task(r, out));
  TRY(of_field("set", check_given(out.problem, out.constraints)));
  const std::int64_t layers = out.problem.model.layers();
  for (const auto& stages : out.problem.given_splits)
    if (const auto sum = std::accumulate(stages.begin(), stages.end(), std::int64_t{0}); sum != layers)
      return fail_field("set", fmt::format("layers_per_stage: found {}, {} layers in all, expected {}",
                                           fmt::join(stages, "-"), sum, layers));
  return {};
}

Result<void> read_headroom(const std::string& word, AnswerRequest& out) {
  if (word.empty()) return {};
  const bool share = word.ends_with('%'), bytes = word.ends_with("GiB");
  const std::size_t unit = share ? 1 : bytes ? 3 : 0;
  const auto number = parse_number(trim(std::string_view(word).substr(0, word.size() - unit)));
  const Bytes usable = out.problem.cluster.gpu.usable;
  const double most = share ? 99.9 : usable / gib(1);
  if (unit == 0 || !number || *number < 0 || *number >= most)
    return fail_field("headroom", fmt::format("found {}, expected a part of a GPU's {} such as 10% or 8GiB",
                                              foretrain::quoted(word), human_bytes(usable)));
  if (share)
    out.headroom_share = *number / 100;
  else
    out.headroom = gib(*number);
  return {};
}

Result<void> read_limits(const SearchRequest& r, AnswerRequest& out) {
  TRY(read_headroom(r.headroom, out));
  if (!r.tokens.empty()) {
    TRY_ASSIGN(out.tokens, amount_word("tokens", r.tokens));
  }
  for (const auto& [field, word] : {std::pair{"deadline", &r.deadline}, {"budget", &r.budget}})
    if (!word->empty() && !out.tokens)
      return fail_field(field, fmt::format("found no {}, expected how many it is for", marked("tokens")));
  if (!r.deadline.empty()) {
    TRY_ASSIGN(out.deadline_s, duration_word("deadline", r.deadline));
  }
  if (!r.budget.empty()) {
    if (!out.problem.cluster.price_per_gpu_hour)
      return fail_field("budget", fmt::format("cluster {} states no price_per_gpu_hour",
                                              foretrain::quoted(out.problem.cluster.name)));
    TRY_ASSIGN(out.budget_usd, amount_word("budget", r.budget));
  }
  return {};
}

Result<void> read_rest(const SearchRequest& r, AnswerRequest& out) {
  if (!r.objective.empty()) {
    const auto found = std::find(kObjectiveNames.begin(), kObjectiveNames.end(), r.objective);
    if (found == kObjectiveNames.end())
      return fail_field(
          "objective", fmt::format("unknown {}{}", foretrain::quoted(r.objective),
                                   suggestion(r.objective, std::vector<std::string>(kObjectiveNames.begin(),
                                                                                    kObjectiveNames.end()))));
    out.options.objective = static_cast<Objective>(found - kObjectiveNames.begin());
  }
  TRY_ASSIGN(const std::int64_t top, bounded_count_word("top", r.top, kMostTop));
  if (top > 0) out.top = static_cast<std::size_t>(top);
  TRY_ASSIGN(const std::int64_t threads, bounded_count_word("threads", r.threads, kMostThreads));
  out.options.threads = static_cast<int>(threads);
  if (!r.time.empty()) {
    TRY_ASSIGN(out.time_s, duration_word("time", r.time));
  }
  out.whys = r.why;
  out.what_ifs = r.what_if;
  return check_questions(out);
}

// A run's file states what the words leave out. Its plan is one of those that are searched.
Result<void> add_run_file(const Catalog& catalog, SearchRequest& r, AnswerRequest& out) {
  if (r.runs.empty()) return {};
  if (r.runs.size() > 1) return fail_field("runs", fmt::format("found {} runs, expected one", r.runs.size()));
  TRY_ASSIGN(const RunFile file, read_run_file(r.runs.front(), catalog));
  const std::vector<std::string> more = file.assumed();
  out.assumed.insert(out.assumed.end(), more.begin(), more.end());
  for (const auto& [key, word] :
       {std::pair("cluster", &r.cluster), std::pair("gpus", &r.gpus), std::pair("seq", &r.seq),
        std::pair("global_batch", &r.global_batch), std::pair("stack", &r.stack),
        std::pair("profile", &r.profile), std::pair("task", &r.task)})
    if (const Node* node = file.node.find(key); node != nullptr && word->empty()) {
      if (!node->is_scalar())
        return fail(
            fmt::format("{}: found a map, expected a name or a number in a run that is searched", key),
            node->at);
      *word = node->scalar;
    }
  TRY_ASSIGN(out.problem.pauses, parse_pauses(file.node));
  if (const Node* model = file.node.find("model"); model != nullptr && r.model.empty()) {
    TRY_ASSIGN(out.problem.model, catalog.model(*model));
  }
  return {};
}

// The stacks that can be read, one by one, by any threads.
class AllStacks {
 public:
  explicit AllStacks(const Catalog& catalog)
      : catalog_(catalog), names_(catalog.names("stacks")), read_(names_.size()) {}

  // Reads one that nobody has begun; false: there is none.
  bool read_one() {
    const std::size_t i = next_.fetch_add(1);
    if (i >= names_.size()) return false;
    SharedStackFiles shared = borrowed();
    if (auto stack = catalog_.stack(names_[i], shared)) read_[i] = *std::move(stack);
    const std::lock_guard lock(mutex_);
    shared_.push_back(std::move(shared));
    return true;
  }

  // With those that are left, on no more threads than are worth starting. REQUIRES: nobody is reading one
  const std::vector<Stack>& all(int threads) {
    if (threads <= 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    const std::size_t left = names_.size() - std::min(next_.load(), names_.size());
    run_on_threads(std::clamp(static_cast<int>(left / 4), 1, std::min(threads, 8)), [&](int) {
      while (read_one()) {
      }
    });
    const std::lock_guard lock(mutex_);
    for (std::optional<Stack>& stack : read_)
      if (stack) all_.push_back(*std::move(stack));
    read_.clear();
    return all_;
  }

 private:
  // What another thread has read of files that several name, where it does not read just now.
  SharedStackFiles borrowed() {
    const std::lock_guard lock(mutex_);
    if (shared_.empty()) return {};
    SharedStackFiles some = std::move(shared_.back());
    shared_.pop_back();
    return some;
  }

  const Catalog& catalog_;
  const std::vector<std::string> names_;
  std::vector<std::optional<Stack>> read_;
  std::vector<Stack> all_;  // once all are read
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::vector<SharedStackFiles> shared_;
};

// A launch is of a framework: plans are searched by one of its stacks.
Result<void> choose_stack(const Catalog& catalog, const std::string& asked, SearchRequest& r,
                          AnswerRequest& out) {
  if (r.launch.empty()) return {};
  TRY_ASSIGN(const LaunchFormat* format, launch_format("launch", r.launch));
  if (!r.stack.empty()) {
    TRY_ASSIGN(const Stack stack, of_field("stack", catalog.stack(r.stack)));
    if (format->has_stack(stack.name)) return {};
    if (!asked.empty())
      return fail_field("launch",
                        fmt::format("{} does not launch stack {}, expected one of {}", format->framework,
                                    foretrain::quoted(stack.name), format->stacks));
  }
  r.stack = format->usual_stack();
  out.assumed.push_back(fmt::format("stack: {} (what is launched)", r.stack));
  return {};
}

Result<AnswerRequest> prepared(Session& session, SearchRequest request) {
  AnswerRequest out;
  const std::string asked = request.stack;
  TRY(add_run_file(session.catalog(), request, out));
  TRY(choose_stack(session.catalog(), asked, request, out));
  TRY(read_problem(request, session.catalog(), out));
  TRY(check_several(request, out.over));
  TRY(read_constraints(request, out));
  TRY(read_limits(request, out));
  TRY(read_rest(request, out));
  TRY_ASSIGN(const ProfileStore::Choice choice,
             of_field("profile", session.costs_for(out.problem.cluster, request.profile)));
  out.profile = choice.profile;
  out.costs_for = [&session, profile = request.profile](
                      const Cluster& cluster) -> Result<std::shared_ptr<const CostSource>> {
    TRY_ASSIGN(ProfileStore::Choice found, of_field("profile", session.costs_for(cluster, profile)));
    return std::move(found.costs);
  };
  TRY(stand_on(session, request, out));
  const auto stacks = std::make_shared<AllStacks>(session.catalog());
  out.frameworks = [stacks, threads = out.options.threads]() -> const std::vector<Stack>& {
    return stacks->all(threads);
  };
  out.read_stack = [stacks] { return stacks->read_one(); };
  return out;
}

}  // namespace

Result<AnswerRequest> prepare(Session& session, const SearchRequest& request) {
  return guarded([&] { return prepared(session, request); });
}

Result<SearchAnswer> ask(const AnswerRequest& request) {
  return guarded([&] { return answer_search(request); });
}

Result<SweepAnswer> ask_sweep(const AnswerRequest& request) {
  return guarded([&] { return answer_sweep(request); });
}

Result<SearchAnswer> ask(Session& session, const SearchRequest& request) {
  TRY_ASSIGN(const AnswerRequest ready, prepare(session, request));
  if (ready.over.several())
    return fail_field("global_batch",
                      fmt::format("found {} searches, expected one", ready.over.points.size()));
  return ask(ready);
}

}  // namespace foretrain
