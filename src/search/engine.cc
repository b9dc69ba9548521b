#include "search/engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "search/backlog.h"
#include "search/exchange.h"
#include "search/pass_order.h"
#include "search/plan_trial.h"
#include "search/portion_search.h"
#include "search/stride.h"

namespace foretrain {
namespace {

constexpr std::uint64_t kPortionPlans = 2048;  // or one family
constexpr std::size_t kFirstRound = 4;         // portions; doubled from round to round
constexpr std::size_t kLongestRound = 256;
constexpr std::size_t kProbes = 4096;          // families
constexpr std::size_t kFirstProbes = 256;      // of these, whatever the time
constexpr std::uint64_t kPlansOfFamily = 256;  // taking one apart is as much work as these

class Searcher {
 public:
  Searcher(const Space& space, const std::shared_ptr<const CostSource>& costs, const SearchOptions& options)
      : space_(space),
        options_(options),
        own_evaluators_(space.problem(), costs),
        workers_(options.evaluators != nullptr ? *options.evaluators : own_evaluators_, options.threads,
                 options.beside),
        watch_(space, options),
        kept_(options),
        probed_(options),
        backlog_(space, options, workers_, watch_, kept_, probed_) {}

  SearchResult run() {
    const auto begin = std::chrono::steady_clock::now();
    const bool at_first = options_.bounds && space_.families() > kProbes;
    if (at_first) probe_first();
    stopped_ = !backlog_.survey(counts_);
    if (options_.bounds && !stopped_) probe();
    if (options_.bounds && stopped_ && !at_first) probe_first();
    agree_to_stop();
    while (!stopped_ && (!backlog_.empty() || backlog_.has_window())) {
      if (backlog_.empty()) stopped_ = !backlog_.open_window(counts_);
      std::size_t round = kFirstRound;
      while (!backlog_.empty() && !stopped_) {
        do_round(next_portions(round));
        round = std::min(2 * round, kLongestRound);
      }
    }
    if (stopped_) {
      open_ = std::min(open_, backlog_.least_open());
      keep_probed();
    }
    SearchResult result;
    result.counts = counts_;
    result.counts.candidates = space_.size();
    result.best = kept_.best.sorted();
    result.pareto = kept_.front.sorted();
    result.counted = space_.is_whole();
    result.interrupted = stopped_ || !result.counted;
    if (stopped_ && result.counted && !std::isinf(open_)) result.open = open_;
    result.threads = workers_.had();
    result.threads_wanted = workers_.wanted();
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return result;
  }

 private:
  // The plain plans of `count` families, from all over them from the start. The first few are tried however little time
  // there is, so that something is told.
  template <class FamilyOf>
  void probe(std::size_t count, const FamilyOf& family_of) {
    const std::size_t apart = stride_over(count);
    std::vector<std::optional<ScoredPlan>> probed(count);
    workers_.each(count, 8, [&](std::size_t i, std::size_t thread) {
      if (i >= kFirstProbes && watch_.asked_to_stop()) return;
      probed[i] =
          plain_plan(space_, family_of(i * apart % count), options_.limits, workers_.evaluator(thread));
    });
    for (const auto& plan : probed)
      if (plan) probed_.add(*plan);
    watch_.note_best(probed_.best.first());
  }

  // Something to tell before any floor is known.
  void probe_first() {
    const std::span<const Family> some = space_.samples();
    const std::size_t count = std::min(kFirstProbes, some.size());
    if (count == 0) return;
    probe(count, [&](std::size_t i) { return some[i * some.size() / count]; });
  }

  // A measure for bounds from the start, as the families with the shortest floors often do not fit. Each is met again
  // in its family, and counted there.
  void probe() {
    const std::span<const Item> items = backlog_.items();
    if (items.empty()) return;
    const std::size_t stride =
        (space_.families() + kProbes - 1) / kProbes;  // of all families, those that may fit
    probe((items.size() + stride - 1) / stride, [&](std::size_t i) { return items[i * stride].family; });
  }

  // Before the first round: a rank that was asked already must not leave the others waiting in it. Later each
  // learns of it by what the round's portions say.
  void agree_to_stop() {
    stopped_ = stopped_ || watch_.asked_to_stop();
    if (options_.team == nullptr) return;
    for (const std::string& said : options_.team->all_gather(stopped_ ? "stop" : ""))
      stopped_ = stopped_ || !said.empty();
  }

  static std::uint64_t work_of(const Item& item) { return item.apart ? item.plans() : kPlansOfFamily; }

  // The next items, the least first. What cannot come in any more is dropped.
  Portion next_items(std::uint64_t most) {
    Portion items;
    SearchCounts dropped;
    const Sieve sieve(options_, kept_, probed_);
    for (std::uint64_t work = 0; work < most && !backlog_.empty();) {
      const Item item = backlog_.pop();
      if (sieve.drops(item.floor, item.family.gpus(), item.plans(), dropped)) {
        watch_.decided(item.plans());
        continue;
      }
      if (items.empty() && options_.bounds && !backlog_.has_window()) watch_.note_least(item.key);
      items.push_back(item);
      work += work_of(item);
    }
    add(counts_, dropped);
    return items;
  }

  // In portions of about equal size, which hold items with passes in common, the least first.
  std::vector<Portion> next_portions(std::size_t most) {
    Portion items = next_items(most * kPortionPlans);
    std::sort(items.begin(), items.end(), order_);
    std::vector<Portion> portions;
    std::uint64_t work = kPortionPlans;
    for (const Item& item : items) {
      if (work >= kPortionPlans) {
        portions.emplace_back();
        work = 0;
      }
      portions.back().push_back(item);
      work += work_of(item);
    }
    for (Portion& portion : portions)
      std::sort(portion.begin(), portion.end(), [](const Item& a, const Item& b) { return b.after(a); });
    return portions;
  }

  void do_round(const std::vector<Portion>& portions) {
    const Share share(options_.team);
    std::vector<Found> found(portions.size());
    workers_.each(share.count(portions.size()), 1, [&](std::size_t i, std::size_t thread) {
      const std::size_t portion = share.at(i);
      PortionSearch(space_, options_, kept_, probed_, watch_, workers_.evaluator(thread), found[portion])
          .go_through(portions[portion]);
    });
    exchange(options_.team, found);
    for (const Found& f : found) take(f);
    watch_.note_best(kept_.best.first());
    if (!stopped_) return;
    // They may still hold what is better than all that was found.
    for (const Portion& portion : portions)
      for (const Item& item : portion)
        open_ = std::min(open_, least_key(item.floor, item.family.gpus(), options_.objective));
  }

  void take(const Found& found) {
    add(counts_, found.counts);
    for (const Item& item : found.items) backlog_.push(item);
    for (const ScoredPlan& plan : found.kept) kept_.add(plan);
    if (options_.evaluated)
      for (const ScoredPlan& plan : found.evaluated) {
        if (!told_ || !told_->family().has(plan.index))
          told_.emplace(space_.legal(), space_.family_of(plan.index));
        options_.evaluated(plan, told_->member(plan.index - told_->family().first));
      }
    stopped_ = stopped_ || found.stopped;
  }

  // Interrupted before their families came up.
  void keep_probed() {
    std::vector<std::uint64_t> known;
    for (const auto& plans : {kept_.best.sorted(), kept_.front.sorted()})
      for (const ScoredPlan& plan : plans) known.push_back(plan.index);
    for (const auto& plans : {probed_.best.sorted(), probed_.front.sorted()})
      for (const ScoredPlan& plan : plans) {
        if (std::find(known.begin(), known.end(), plan.index) != known.end()) continue;
        known.push_back(plan.index);
        kept_.add(plan);
      }
  }

  const Space& space_;
  const SearchOptions& options_;
  Evaluators own_evaluators_;
  Workers workers_;
  Watch watch_;
  Kept kept_, probed_;
  Backlog backlog_;
  PassOrder order_;
  SearchCounts counts_;
  double open_ = std::numeric_limits<double>::infinity();
  bool stopped_ = false;
  std::optional<Members> told_;
};

}  // namespace

SearchResult search(const Space& space, const std::shared_ptr<const CostSource>& costs,
                    const SearchOptions& options) {
  return Searcher(space, costs, options).run();
}

}  // namespace foretrain
