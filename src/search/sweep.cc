#include "search/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "base/text.h"
#include "search/mean_limit.h"
#include "search/one_plan.h"
#include "search/watch.h"

namespace foretrain {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLongestTime = 1e9;  // seconds: what a clock of nanoseconds can add
constexpr const char* kInterrupted = "no plan was found before it was interrupted";

class Sweep {
 public:
  explicit Sweep(const AnswerRequest& request) : request_(request) { out_.over = request.over; }

  Result<SweepAnswer> answer() {
    const auto begin = Clock::now();
    if (request_.time_s) end_ = begin + after(std::min(*request_.time_s, kLongestTime));
    TRY_ASSIGN(costs_, request_.costs_for(request_.problem.cluster));
    for (std::size_t i = 0; i < request_.over.points.size(); ++i) {
      SweepPoint& point = out_.points.emplace_back();
      point.at = request_.over.points[i];
      point.refused = point.at.refused;
      if (!point.refused.empty()) continue;
      if (out_.counts.candidates > 0 && told_to_stop()) {
        point.refused = "not searched: interrupted";
        out_.interrupted = true;
        continue;
      }
      TRY(search_at(i, point));
    }
    out_.assumed = request_.assumed;
    for (const SweepPoint& point : out_.points) {
      if (point.answer.best.empty()) continue;
      for (const std::string& line : point.answer.best.front().run.assumed) out_.assumed.push_back(line);
      break;
    }
    gather_left_out();
    out_.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return std::move(out_);
  }

 private:
  static Clock::duration after(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  // Ranks of a team learn of it from one another, in a search alone.
  bool told_to_stop() const {
    const std::atomic<bool>* stop = request_.options.stop;
    return request_.options.team == nullptr && stop != nullptr && stop->load(std::memory_order_relaxed);
  }

  Evaluators& evaluators_for(const Problem& problem) {
    if (!evaluators_ || !evaluators_->serve(problem)) evaluators_.emplace(problem, costs_);
    return *evaluators_;
  }

  SearchOptions options_at(std::size_t i, const Problem& problem) {
    SearchOptions options = options_for(request_, problem);
    options.keep = 1;
    options.front = several_counts() ? FrontKind::kSteps : FrontKind::kNone;
    const std::size_t left = request_.over.points.size() - i;
    if (end_) options.until = Clock::now() + (*end_ - Clock::now()) / static_cast<std::int64_t>(left);
    if (request_.options.progress)
      options.progress = [this, i, left](SearchProgress now) {
        // What is still to come is taken to be as much a point as this one.
        now.done += out_.counts.candidates;
        now.all = out_.counts.candidates + now.all * left;
        now.point = i;
        now.points = request_.over.points.size();
        request_.options.progress(now);
      };
    return options;
  }

  bool several_counts() const { return request_.problem.gpus.size() > 1; }

  Result<void> search_at(std::size_t i, SweepPoint& point) {
    SearchAnswer& answer = point.answer;
    answer.problem = request_.problem;
    answer.problem.seq = point.at.seq;
    answer.problem.global_batch = point.at.global_batch;
    if (request_.at_length) {
      LengthSetting there = request_.at_length(point.at.seq);
      answer.problem.cluster = std::move(there.cluster);
      costs_ = std::move(there.costs);
    }
    answer.profile = request_.profile;
    answer.tokens = request_.tokens;
    for (const Constraint& constraint : request_.constraints.all())
      answer.constraints.push_back(constraint.text());
    SearchOptions options = options_at(i, answer.problem);
    TRY_ASSIGN(const Space space, Space::make(answer.problem, request_.constraints, request_.options.threads,
                                              stop_of_counting(options)));
    answer.left_out = space.left_out();
    Evaluators& evaluators = evaluators_for(answer.problem);
    options.evaluators = &evaluators;
    answer.result = several_counts() ? search_by_mean(space, options, evaluators)
                                     : search_from(space, options, evaluators, known_);
    answer.options = options_for(request_, answer.problem);
    add_counts(answer.result);
    for (const ScoredPlan& plan : answer.result.best)
      answer.best.push_back(ranked(space, plan, evaluators.first()));
    for (const ScoredPlan& plan : answer.result.pareto)
      answer.pareto.push_back(ranked(space, plan, evaluators.first()));
    if (!answer.best.empty()) {
      const Run& run = answer.best.front().run;
      known_.insert(known_.begin(), {run.gpus, run.plan});
    } else {
      point.refused = why_none(space, answer, evaluators);
      out_.interrupted = out_.interrupted || told_to_stop();
    }
    return {};
  }

  std::string why_none(const Space& space, const SearchAnswer& answer, Evaluators& evaluators) const {
    if (answer.result.interrupted) return told_to_stop() ? kInterrupted : "no plan was found in the time";
    if (space.size() == 0) return "there is no legal plan";
    const auto smallest = smallest_of(space, answer.options, evaluators);
    if (told_to_stop()) return kInterrupted;  // a smaller one may be left
    if (!smallest || smallest->prediction.needed <= answer.options.limits.memory)
      return "no plan keeps to the limits";
    return fmt::format("no plan fits: the smallest needs {} on its worst GPU, {} may be used",
                       human_bytes(smallest->prediction.needed), human_bytes(answer.options.limits.memory));
  }

  void add_counts(const SearchResult& result) {
    out_.counts.candidates += result.counts.candidates;
    out_.counts.evaluated += result.counts.evaluated;
    out_.counts.pruned_memory += result.counts.pruned_memory;
    out_.counts.pruned_bound += result.counts.pruned_bound;
    out_.counts.simulated += result.counts.simulated;
    out_.interrupted = out_.interrupted || result.interrupted;
    out_.counted = out_.counted && result.counted;
  }

  // The same at every length is told once.
  void gather_left_out() {
    std::vector<std::pair<LeftOut, std::vector<std::string>>> found;
    std::vector<std::string> seqs;
    for (const SweepPoint& point : out_.points) {
      if (point.answer.problem.seq == 0) continue;
      const std::string seq = fmt::format("{}", point.at.seq);
      if (!seqs.empty() && seqs.back() == seq) continue;
      seqs.push_back(seq);
      for (const LeftOut& left : point.answer.left_out) {
        auto same = std::find_if(found.begin(), found.end(), [&](const auto& known) {
          return known.first.values == left.values && known.first.reason == left.reason;
        });
        if (same == found.end()) same = found.insert(found.end(), {left, {}});
        same->second.push_back(seq);
      }
    }
    for (auto& [left, at] : found) {
      if (at.size() < seqs.size()) left.values += " at seq " + join(at, ", ");
      out_.left_out.push_back(std::move(left));
    }
  }

  const AnswerRequest& request_;
  SweepAnswer out_;
  std::optional<Clock::time_point> end_;
  std::shared_ptr<const CostSource> costs_;
  std::optional<Evaluators> evaluators_;
  std::vector<Candidate> known_;  // the best of the points before, the last first
};

}  // namespace

const SearchAnswer& SweepAnswer::any() const {
  const auto searched = std::find_if(points.begin(), points.end(),
                                     [](const SweepPoint& point) { return point.answer.problem.seq > 0; });
  CHECK_THAT(searched != points.end());
  return searched->answer;
}

double SweepAnswer::best_per_gpu() const {
  double best = 0;
  for (const SweepPoint& point : points) {
    for (const auto* plans : {&point.answer.best, &point.answer.pareto})
      for (const RankedPlan& plan : *plans) best = std::max(best, plan.prediction.tokens_per_s_per_gpu);
  }
  return best;
}

Result<SweepAnswer> answer_sweep(const AnswerRequest& request) {
  CHECK_THAT(request.over.several());
  return Sweep(request).answer();
}

void spell(SweepAnswer& answer, const FieldWords& words) {
  for (SweepPoint& point : answer.points) spell(point.answer, words);
  for (LeftOut& left : answer.left_out) left.reason = spelled(left.reason, words);
}

}  // namespace foretrain
