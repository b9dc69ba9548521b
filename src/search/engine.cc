#include "search/engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <thread>

#include "base/check.h"
#include "base/threads.h"
#include "predict/evaluator.h"

namespace foretrain {
namespace {

constexpr std::uint64_t kChunkPlans = 2048;  // or one family
constexpr std::size_t kFirstRound = 4;       // chunks; doubled from round to round
constexpr std::size_t kLongestRound = 256;
constexpr std::size_t kProbes = 4096;          // families
constexpr std::size_t kFirstProbes = 256;      // of these, whatever the time
constexpr std::uint64_t kPlansOfFamily = 256;  // taking one apart is as much work as these

// What is still to be decided: a family, to be taken apart; or plans of it that are gone through one by one.
struct Item {
  double key = 0;  // the least that its plans can be in what items are ordered by
  std::size_t family = 0;
  std::uint64_t begin = 0, end = 0;  // of the family's plans
  bool apart = false;                // not to be taken apart any more
  PlanFloor floor;

  std::uint64_t plans() const { return end - begin; }
  bool after(const Item& other) const {
    if (key != other.key) return key > other.key;
    if (family != other.family) return family > other.family;
    return begin > other.begin;
  }
};

using Chunk = std::vector<Item>;

// What a chunk came to.
struct Found {
  SearchCounts counts;
  std::vector<ScoredPlan> kept;
  std::vector<ScoredPlan> evaluated;  // where somebody wants them
  std::vector<Item> parts;            // of families that were taken apart
  bool stopped = false;
};

class Searcher {
 public:
  Searcher(const Space& space, const std::shared_ptr<const CostSource>& costs, const SearchOptions& options)
      : space_(space),
        options_(options),
        own_evaluators_(space.problem(), costs),
        evaluators_(options.evaluators != nullptr ? *options.evaluators : own_evaluators_),
        best_(options.objective, options.keep),
        front_(options.front),
        probed_best_(options.objective, options.keep),
        probed_front_(options.front) {
    threads_wanted_ = options.threads;
    if (threads_wanted_ <= 0)
      threads_wanted_ = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    threads_ = threads_wanted_;
    evaluators_.make_room(static_cast<std::size_t>(threads_wanted_));
  }

  SearchResult run() {
    const auto begin = std::chrono::steady_clock::now();
    if (options_.bounds && space_.families() > kProbes) probe_first();
    find_floors();
    put_in_order();
    if (options_.bounds) probe();
    agree_to_stop();
    std::size_t round = kFirstRound;
    while (!items_.empty() && !stopped_) {
      do_round(next_chunks(round));
      round = std::min(2 * round, kLongestRound);
    }
    if (stopped_) {
      for (const Item& item : items_) leave_open(item);
      keep_probed();
    }
    SearchResult result;
    result.counts = counts_;
    result.counts.candidates = space_.size();
    result.best = best_.sorted();
    result.pareto = front_.sorted();
    result.interrupted = stopped_;
    if (stopped_ && !std::isinf(open_)) result.open = open_;
    result.threads = threads_;
    result.threads_wanted = threads_wanted_;
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return result;
  }

 private:
  // Calls work(i, evaluator) for each i below count, on as many threads as there are. Where one throws (it
  // ran out of memory), the others end soon.
  template <class Work>
  void on_threads(std::size_t count, std::size_t at_once, const Work& work) {
    std::atomic<std::size_t> next = 0;
    const auto loop = [&](int thread) {
      try {
        Evaluator& evaluator = evaluators_.of(static_cast<std::size_t>(thread));
        for (std::size_t i = next.fetch_add(at_once); i < count; i = next.fetch_add(at_once))
          for (std::size_t k = i; k < std::min(count, i + at_once); ++k) work(k, evaluator);
      } catch (...) {
        next = count;
        throw;
      }
    };
    threads_ = std::min(threads_, run_on_threads(threads_wanted_, loop));
  }

  bool asked_to_stop() const {
    return (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) ||
           (options_.until && std::chrono::steady_clock::now() >= *options_.until);
  }

  void find_floors() {
    floors_.resize(space_.families());
    on_threads(floors_.size(), 64, [&](std::size_t family, Evaluator& evaluator) {
      if (asked_to_stop()) return;
      floors_[family] = family_floor(family, evaluator);
      if (family % 1024 == 0) report(0);
    });
  }

  PlanFloor part_floor(const Candidate& candidate, std::size_t family, Evaluator& evaluator) const {
    return evaluator.floor(candidate.plan, space_.problem().global_batch,
                           {options_.limits.memory, space_.most_layers(family)});
  }

  // Of all parts that may fit. The more layers are run again the longer and the smaller, so that the least of them
  // is where it just fits; all of them (0) is a part of its own.
  PlanFloor family_floor(std::size_t family, Evaluator& evaluator) const {
    Candidate candidate = space_.shared(family);
    const std::vector<std::vector<Value>> parts = space_.parts(candidate);
    CHECK_THAT(parts.size() == 2);
    const Dimension& layers = dimensions()[outer_count()];
    const Dimension& partition = dimensions()[outer_count() + 1];
    std::optional<PlanFloor> least;
    PlanFloor smallest{Seconds(0), Bytes(std::numeric_limits<double>::infinity()), false};
    const auto floor_at = [&](Value n) {
      layers.put(space_.problem(), candidate, n);
      const PlanFloor floor = part_floor(candidate, family, evaluator);
      smallest.peak = std::min(smallest.peak, floor.peak);
      return floor;
    };
    const auto take = [&](const PlanFloor& floor) {
      if (may_fit(floor) && (!least || floor.step < least->step)) least = floor;
    };
    for (const Value divided : parts[1]) {
      partition.put(space_.problem(), candidate, divided);
      std::span<const Value> some = parts[0];
      if (!some.empty() && some.front() == 0) {
        take(floor_at(0));
        some = some.subspan(1);
      }
      if (some.empty() || !may_fit(floor_at(some.back()))) continue;
      const auto first =
          std::partition_point(some.begin(), some.end(), [&](Value n) { return !may_fit(floor_at(n)); });
      take(floor_at(*first));
    }
    if (!least) return smallest;
    return {least->step, smallest.peak, true};
  }

  double order_key(const PlanFloor& floor) const {
    if (!options_.bounds) return 0;
    return options_.objective == Objective::kMemory ? floor.peak.value : floor.step.value;
  }

  // Families by their floors: sorted, so a heap too.
  void put_in_order() {
    items_.reserve(space_.families());
    for (std::size_t family = 0; family < space_.families(); ++family) {
      const PlanFloor& floor = floors_[family];
      items_.push_back({order_key(floor), family, 0, space_.count(family), !options_.bounds, floor});
    }
    std::sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) { return b.after(a); });
    std::vector<PlanFloor>().swap(floors_);  // items have them
  }

  // The next items, the least first, in chunks of about equal size. What cannot come in any more is dropped.
  std::vector<Chunk> next_chunks(std::size_t most) {
    std::vector<Chunk> chunks;
    std::uint64_t plans = kChunkPlans;
    Found dropped;
    while (!items_.empty() && (chunks.size() < most || plans < kChunkPlans)) {
      std::pop_heap(items_.begin(), items_.end(), [](const Item& a, const Item& b) { return a.after(b); });
      const Item item = items_.back();
      items_.pop_back();
      if (pruned_by_floor(item.floor, space_.gpus(item.family), item.plans(), best_, front_,
                          dropped.counts)) {
        report(item.plans());
        continue;
      }
      if (plans >= kChunkPlans) {
        if (chunks.empty() && options_.bounds) least_ = item.key;
        chunks.emplace_back();
        plans = 0;
      }
      chunks.back().push_back(item);
      plans += item.apart ? item.plans() : kPlansOfFamily;
    }
    add(dropped.counts);
    return chunks;
  }

  // The plain plan of a family, where it fits.
  std::optional<ScoredPlan> plain_plan(std::size_t family, Evaluator& evaluator) const {
    Space::Members members(space_, family);
    const Candidate& candidate = members.member(0);
    ScoredPlan plan;
    plan.index = space_.first(family);
    plan.gpus = candidate.gpus;
    Weighed weighed = evaluator.weigh(candidate.plan, space_.problem().global_batch);
    plan.peak = weighed.needed().value;
    if (!fits(weighed)) return std::nullopt;
    time(weighed.timed(true), plan);
    if (plan.step > options_.limits.longest_step(plan.gpus).value) return std::nullopt;
    return plan;
  }

  // Of `count` families, from all over them from the start. The first few are tried however little time there is, so
  // that something is told.
  template <class FamilyOf>
  void probe(std::size_t count, const FamilyOf& family_of) {
    std::size_t apart =
        std::max<std::size_t>(1, static_cast<std::size_t>(0.618 * static_cast<double>(count)));
    while (std::gcd(apart, count) != 1) ++apart;
    std::vector<std::optional<ScoredPlan>> probed(count);
    on_threads(count, 8, [&](std::size_t i, Evaluator& evaluator) {
      if (i >= kFirstProbes && asked_to_stop()) return;
      if (const auto family = family_of(i * apart % count)) probed[i] = plain_plan(*family, evaluator);
    });
    for (const auto& plan : probed) {
      if (!plan) continue;
      probed_best_.add(*plan);
      probed_front_.add(*plan);
    }
    note_best();
  }

  // Something to tell before any floor is known.
  void probe_first() {
    const std::size_t families = space_.families();
    probe(kFirstProbes, [&](std::size_t i) { return std::optional(i * families / kFirstProbes); });
  }

  // A measure for bounds from the start, as the families with the shortest floors often do not fit. Each is met again
  // in its family, and counted there.
  void probe() {
    if (items_.empty()) return;
    const std::size_t stride = (items_.size() + kProbes - 1) / kProbes;
    probe((items_.size() + stride - 1) / stride, [&](std::size_t i) -> std::optional<std::size_t> {
      const Item& item = items_[i * stride];
      if (!may_fit(item.floor)) return std::nullopt;
      return item.family;
    });
  }

  // Before the first round: a rank that was asked already must not leave the others waiting in it. Later each
  // learns of it by what the round's chunks say.
  void agree_to_stop() {
    stopped_ = asked_to_stop();
    if (!options_.team) return;
    for (const std::string& said : options_.team->all_gather(stopped_ ? "stop" : ""))
      stopped_ = stopped_ || !said.empty();
  }

  // Interrupted before their families came up.
  void keep_probed() {
    std::vector<std::uint64_t> known;
    for (const auto& plans : {best_.sorted(), front_.sorted()})
      for (const ScoredPlan& plan : plans) known.push_back(plan.index);
    const auto add = [&](const ScoredPlan& plan) {
      if (std::find(known.begin(), known.end(), plan.index) != known.end()) return;
      known.push_back(plan.index);
      best_.add(plan);
      front_.add(plan);
    };
    for (const auto& plans : {probed_best_.sorted(), probed_front_.sorted()})
      for (const ScoredPlan& plan : plans) add(plan);
  }

  void do_round(const std::vector<Chunk>& chunks) {
    const std::size_t ranks = options_.team ? static_cast<std::size_t>(options_.team->size()) : 1;
    const std::size_t rank = options_.team ? static_cast<std::size_t>(options_.team->rank()) : 0;
    std::vector<Found> found(chunks.size());
    const std::size_t mine = chunks.size() > rank ? (chunks.size() - rank + ranks - 1) / ranks : 0;
    on_threads(mine, 1, [&](std::size_t i, Evaluator& evaluator) {
      const std::size_t chunk = rank + i * ranks;
      do_chunk(chunks[chunk], evaluator, found[chunk]);
    });
    if (options_.team) exchange(found, rank, ranks);
    for (const Found& f : found) take(f);
    note_best();
    if (!stopped_) return;
    for (const Chunk& chunk : chunks)
      for (const Item& item : chunk) leave_open(item);
  }

  void note_best() {
    for (const auto* plans : {&best_, &probed_best_})
      if (const ScoredPlan* first = plans->first())
        if (!told_best_ || better(options_.objective, *first, *told_best_)) told_best_ = *first;
  }

  // Interrupted: it may still hold what is better than all that was found.
  void leave_open(const Item& item) {
    if (may_fit(item.floor)) open_ = std::min(open_, key_floor(item.floor, space_.gpus(item.family)));
  }

  void add(const SearchCounts& counts) {
    counts_.evaluated += counts.evaluated;
    counts_.pruned_memory += counts.pruned_memory;
    counts_.pruned_bound += counts.pruned_bound;
    counts_.simulated += counts.simulated;
  }

  void take(const Found& found) {
    add(found.counts);
    for (const Item& part : found.parts) {
      items_.push_back(part);
      std::push_heap(items_.begin(), items_.end(), [](const Item& a, const Item& b) { return a.after(b); });
    }
    for (const ScoredPlan& plan : found.kept) {
      best_.add(plan);
      front_.add(plan);
    }
    if (options_.evaluated)
      for (const ScoredPlan& plan : found.evaluated) {
        const std::size_t family = space_.family_of(plan.index);
        if (!told_ || told_family_ != family) told_.emplace(space_, family);
        told_family_ = family;
        options_.evaluated(plan, told_->member(plan.index - space_.first(family)));
      }
    stopped_ = stopped_ || found.stopped;
  }

  double key_floor(const PlanFloor& floor, std::int64_t gpus) const {
    ScoredPlan plan;
    plan.gpus = gpus;
    plan.step = floor.step.value;
    plan.peak = floor.peak.value;
    return key_of(options_.objective, plan);  // of energy nothing is known: 0
  }

  // A chunk while its plans are gone through: what may come in hangs on those before it and on its own.
  struct Chosen {
    BestPlans best;
    ParetoFront front;
    Found& found;

    void add(const ScoredPlan& plan) {
      best.add(plan);
      front.add(plan);
      found.kept.push_back(plan);
    }
  };

  void do_chunk(const Chunk& chunk, Evaluator& evaluator, Found& out) {
    Chosen chosen{best_, front_, out};
    for (const Item& item : chunk) {
      if (out.stopped) return;
      Space::Members members(space_, item.family);
      if (item.apart || members.part_size() == item.plans())
        do_plans(item, members, evaluator, chosen);
      else
        take_apart(item, members, evaluator, chosen);
    }
  }

  // Its parts, each with a floor of its own, are for a later round: others may come before them.
  void take_apart(const Item& item, Space::Members& members, Evaluator& evaluator, Chosen& chosen) {
    for (std::uint64_t n = item.begin; n < item.end; n += members.part_size()) {
      const PlanFloor floor = part_floor(members.member(n), item.family, evaluator);
      if (pruned_by_floor(floor, space_.gpus(item.family), members.part_size(), chosen.best, chosen.front,
                          chosen.found.counts))
        report(members.part_size());
      else
        chosen.found.parts.push_back(
            {order_key(floor), item.family, n, n + members.part_size(), true, floor});
    }
  }

  void do_plans(const Item& item, Space::Members& members, Evaluator& evaluator, Chosen& chosen) {
    const std::uint64_t first = space_.first(item.family);
    if (options_.bounds) part_floor(members.member(item.begin), item.family, evaluator);  // its splits follow
    for (std::uint64_t n = item.begin; n < item.end; ++n) {
      if (asked_to_stop()) {
        chosen.found.stopped = true;
        return;
      }
      const Candidate& candidate = members.member(n);
      const std::uint64_t alike = members.same_split(n);
      if (options_.bounds && alike == members.flags() &&
          pruned_by_split(candidate, alike, item, evaluator, chosen)) {
        n += alike - 1;
        continue;
      }
      if (do_plan(candidate, first + n, evaluator, chosen)) continue;
      // What overlaps changes no byte: nor do the plans with the same split fit.
      chosen.found.counts.pruned_memory += alike - 1;
      n += alike - 1;
    }
    report(item.plans());
  }

  // Whether none of so many plans of a part, with one split, can fit or come in.
  bool pruned_by_split(const Candidate& candidate, std::uint64_t plans, const Item& item,
                       Evaluator& evaluator, Chosen& chosen) const {
    PlanFloor floor =
        evaluator.split_floor(candidate.plan, space_.problem().global_batch, options_.limits.memory);
    floor.step = std::max(floor.step, item.floor.step);
    floor.peak = std::max(floor.peak, item.floor.peak);
    return pruned_by_floor(floor, candidate.gpus, plans, chosen.best, chosen.front, chosen.found.counts);
  }

  // Whether none of so many plans can fit or come in.
  bool pruned_by_floor(const PlanFloor& floor, std::int64_t gpus, std::uint64_t plans, const BestPlans& best,
                       const ParetoFront& front, SearchCounts& counts) const {
    if (!options_.bounds) return false;
    if (!may_fit(floor)) {
      counts.pruned_memory += plans;
      return true;
    }
    const double key = key_floor(floor, gpus);
    const double step = floor.step.value, peak = floor.peak.value;
    if (floor.step <= options_.limits.longest_step(gpus) &&
        ((best.wants(key) && probed_best_.wants(key)) ||
         (front.wants(gpus, step, peak) && probed_front_.wants(gpus, step, peak))))
      return false;
    counts.pruned_bound += plans;
    return true;
  }

  bool may_fit(const PlanFloor& floor) const { return floor.fits && floor.peak <= options_.limits.memory; }

  // On the GPU, and in the host's memory where the cluster states how large it is.
  bool fits(const Weighed& weighed) const {
    if (weighed.needed() > options_.limits.memory) return false;
    const Bytes host = space_.problem().cluster.host_memory;
    return host == Bytes(0) || std::isinf(options_.limits.memory.value) || weighed.host() <= host;
  }

  // Whether it fits.
  bool do_plan(const Candidate& candidate, std::uint64_t index, Evaluator& evaluator, Chosen& chosen) const {
    SearchCounts& counts = chosen.found.counts;
    ScoredPlan plan;
    plan.index = index;
    plan.gpus = candidate.gpus;
    Weighed weighed = evaluator.weigh(candidate.plan, space_.problem().global_batch);
    plan.peak = weighed.needed().value;
    if (!fits(weighed)) {
      ++counts.pruned_memory;
      return false;
    }
    if (options_.bounds) {
      bound(weighed, plan);
      if (!comes_in(plan, chosen)) {
        ++counts.pruned_bound;
        return true;
      }
    }
    time(weighed.timed(), plan);
    if (!plan.exact && comes_in(plan, chosen)) time(weighed.timed(true), plan);
    ++counts.evaluated;
    counts.simulated += plan.exact;
    if (options_.evaluated) chosen.found.evaluated.push_back(plan);
    if (plan.exact && comes_in(plan, chosen)) chosen.add(plan);
    return true;
  }

  void bound(Weighed& weighed, ScoredPlan& plan) const {
    const StepBound bound = weighed.at_least();
    plan.step = bound.seconds().value;
    if (options_.objective == Objective::kEnergy) plan.joules = bound.joules();
  }

  static void time(const TimedStep& timed, ScoredPlan& plan) {
    plan.step = timed.seconds().value;
    plan.exact = timed.exact();
    plan.joules = timed.joules();
  }

  bool comes_in(const ScoredPlan& plan, const Chosen& chosen) const {
    if (plan.step > options_.limits.longest_step(plan.gpus).value) return false;
    const double key = key_of(options_.objective, plan);
    return (chosen.best.wants(key) && probed_best_.wants(key)) ||
           (chosen.front.wants(plan.gpus, plan.step, plan.peak) &&
            probed_front_.wants(plan.gpus, plan.step, plan.peak));
  }

  void report(std::uint64_t plans) {
    if (!options_.progress) return;
    SearchProgress now;
    now.done = done_.fetch_add(plans) + plans;
    now.all = space_.size();
    if (told_best_) {
      now.best = told_best_->step;
      now.gap = gap();
    }
    options_.progress(now);
  }

  // Of energy there are no floors, and the floors of steps on several GPU counts say nothing of money.
  std::optional<double> gap() const {
    const Objective objective = options_.objective;
    if (!least_ || objective == Objective::kEnergy) return std::nullopt;
    if (objective == Objective::kMoney && space_.problem().gpus.size() > 1) return std::nullopt;
    const double best = objective == Objective::kMemory ? told_best_->peak : told_best_->step;
    return std::max(0.0, 1 - *least_ / best);
  }

  // Every rank learns of every chunk.
  void exchange(std::vector<Found>& found, std::size_t rank, std::size_t ranks) {
    std::string mine;
    const auto put = [&mine](const void* data, std::size_t size) {
      mine.append(static_cast<const char*>(data), size);
    };
    for (std::size_t c = rank; c < found.size(); c += ranks) {
      const Found& f = found[c];
      const std::uint64_t lengths[] = {f.kept.size(), f.evaluated.size(), f.parts.size(), f.stopped};
      put(&f.counts, sizeof f.counts);
      put(lengths, sizeof lengths);
      put(f.kept.data(), f.kept.size() * sizeof(ScoredPlan));
      put(f.evaluated.data(), f.evaluated.size() * sizeof(ScoredPlan));
      put(f.parts.data(), f.parts.size() * sizeof(Item));
    }
    const std::vector<std::string> all = options_.team->all_gather(mine);
    CHECK_THAT(all.size() == ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
      if (r == rank) continue;
      std::size_t at = 0;
      const auto get = [&](void* data, std::size_t size) {
        CHECK_THAT(at + size <= all[r].size());
        if (size > 0) std::memcpy(data, all[r].data() + at, size);
        at += size;
      };
      for (std::size_t c = r; c < found.size(); c += ranks) {
        Found& f = found[c];
        std::uint64_t lengths[4] = {};
        get(&f.counts, sizeof f.counts);
        get(lengths, sizeof lengths);
        f.kept.resize(lengths[0]);
        f.evaluated.resize(lengths[1]);
        f.parts.resize(lengths[2]);
        f.stopped = lengths[3] != 0;
        get(f.kept.data(), f.kept.size() * sizeof(ScoredPlan));
        get(f.evaluated.data(), f.evaluated.size() * sizeof(ScoredPlan));
        get(f.parts.data(), f.parts.size() * sizeof(Item));
      }
    }
  }

  const Space& space_;
  const SearchOptions& options_;
  Evaluators own_evaluators_;
  Evaluators& evaluators_;
  std::vector<PlanFloor> floors_;
  std::vector<Item> items_;      // a heap, the least on top
  std::optional<double> least_;  // key of what was first in the round: nothing that was open then is below it
  double open_ = std::numeric_limits<double>::infinity();
  BestPlans best_;
  ParetoFront front_;
  BestPlans probed_best_;
  ParetoFront probed_front_;
  SearchCounts counts_;
  std::atomic<std::uint64_t> done_ = 0;
  bool stopped_ = false;
  int threads_wanted_ = 1;
  int threads_ = 0;                      // the fewest that worked at once
  std::optional<ScoredPlan> told_best_;  // as of the last round
  std::optional<Space::Members> told_;
  std::size_t told_family_ = 0;
};

static_assert(std::is_trivially_copyable_v<ScoredPlan> && std::is_trivially_copyable_v<SearchCounts> &&
              std::is_trivially_copyable_v<Item>);

}  // namespace

SearchResult search(const Space& space, const std::shared_ptr<const CostSource>& costs,
                    const SearchOptions& options) {
  return Searcher(space, costs, options).run();
}

}  // namespace foretrain
