#include "search/nearest.h"

#include <algorithm>
#include <array>
#include <utility>

#include "job/pipeline.h"
#include "job/run_check.h"
#include "predict/uncertainty.h"
#include "trace/events.h"

namespace foretrain {
namespace {

constexpr int kMostChanges = 3;
constexpr std::int64_t kMostTimes = 8;           // of a degree
constexpr std::int64_t kMostPasses = 1'000'000;  // to simulate in all: some 10 ms
constexpr std::int64_t kPassesAPlan = 10'000;    // that laying out a plan's passes is worth

// The plans with one of their keys changed.
using Others = std::vector<Plan> (*)(const Plan& plan);

template <class Change>
std::vector<Plan> with(const Plan& plan, std::initializer_list<std::int64_t> values, Change change) {
  std::vector<Plan> plans;
  for (const std::int64_t value : values) {
    plans.push_back(plan);
    change(plans.back(), value);
  }
  return plans;
}

std::vector<Plan> more_sp(const Plan& plan) {
  if (plan.sp || plan.tp == 1) return {};
  return with(plan, {1}, [](Plan& p, std::int64_t) { p.sp = true; });
}

std::vector<Plan> more_recompute(const Plan& plan) {
  std::vector<Plan> plans;
  for (const Recompute recompute : {Recompute::kSelective, Recompute::kFull}) {
    if (recompute <= plan.recompute && plan.recompute_layers == 0) continue;
    plans.push_back(plan);
    plans.back().recompute = recompute;
    plans.back().recompute_layers = 0;
  }
  return plans;
}

std::vector<Plan> more_zero(const Plan& plan) {
  std::vector<Plan> plans;
  for (int zero = plan.zero + 1; zero <= 3; ++zero) {
    plans.push_back(plan);
    plans.back().zero = zero;
  }
  return plans;
}

std::vector<Plan> smaller_batches(const Plan& plan) {
  std::vector<Plan> plans;
  for (std::int64_t size = plan.micro_batch / 2; size >= 1; size /= 2) {
    plans.push_back(plan);
    plans.back().micro_batch = size;
  }
  return plans;
}

std::vector<Plan> more_tp(const Plan& plan) {
  std::vector<Plan> plans;
  for (std::int64_t times = 2; times <= kMostTimes; times *= 2) {
    plans.push_back(plan);
    plans.back().tp *= times;
  }
  return plans;
}

std::vector<Plan> more_pp(const Plan& plan) {
  std::vector<Plan> plans;
  for (std::int64_t times = 2; times <= kMostTimes; times *= 2) {
    plans.push_back(plan);
    plans.back().pp *= times;
    plans.back().layers_per_stage.clear();
  }
  return plans;
}

std::vector<Plan> more_cp(const Plan& plan) {
  std::vector<Plan> plans;
  for (std::int64_t times = 2; times <= kMostTimes; times *= 2) {
    plans.push_back(plan);
    plans.back().cp *= times;
  }
  return plans;
}

std::vector<Plan> more_ep(const Plan& plan) {
  std::vector<Plan> plans;
  for (std::int64_t times = 2; times <= 4 * kMostTimes; times *= 2) {
    plans.push_back(plan);
    plans.back().ep *= times;
  }
  return plans;
}

// The stack's own, that which makes the gradient at once first.
std::vector<Plan> smaller_loss(const Plan& plan) {
  std::vector<Plan> plans;
  for (const LossKind kind : {LossKind::kChunked, LossKind::kFused}) {
    if (plan.loss.value_or(LossKind::kWhole) != LossKind::kWhole) continue;
    plans.push_back(plan);
    plans.back().loss = kind;
  }
  return plans;
}

// So few pieces as help: the products of long ones are as fast as whole.
std::vector<Plan> more_mlp_chunks(const Plan& plan) {
  if (plan.mlp_chunks > 1) return {};
  return with(plan, {4, 16}, [](Plan& p, std::int64_t pieces) { p.mlp_chunks = pieces; });
}

std::vector<Plan> offloaded(const Plan& plan) {
  if (plan.offload) return {};
  return with(plan, {1}, [](Plan& p, std::int64_t) { p.offload = true; });
}

// Changed in this order: sp is a choice only once tp is more than 1.
constexpr std::array<Others, 11> kOthers = {more_recompute,  more_zero, smaller_batches, smaller_loss,
                                            more_mlp_chunks, offloaded, more_tp,         more_sp,
                                            more_pp,         more_cp,   more_ep};

// What changes the training itself, nearest first: states in eight bits, or in the host's memory; adapters alone,
// beside weights as they are or in four bits.
std::vector<Plan> other_training(const Plan& plan) {
  std::vector<Plan> plans;
  const auto add = [&](auto change) {
    plans.push_back(plan);
    change(plans.back());
  };
  if (plan.optimizer == OptimizerKind::kAdamw && plan.lora == 0)
    add([](Plan& p) { p.optimizer = OptimizerKind::kAdamw8bit; });
  if (plan.optimizer == OptimizerKind::kAdamw && plan.lora == 0 && !plan.offload_optimizer && !plan.paged)
    add([](Plan& p) { p.offload_optimizer = true; });
  if (plan.lora == 0) add([](Plan& p) { p.lora = kUsualRank; });
  if (plan.base.value_or(BaseFormat::kBf16) == BaseFormat::kBf16)
    add([](Plan& p) {
      if (p.lora == 0) p.lora = kUsualRank;
      p.base = BaseFormat::kNf4;
    });
  return plans;
}

class Search {
 public:
  Search(const Run& run, Evaluator& evaluator) : run_(run), evaluator_(evaluator) {}

  // Plans with so many keys changed that fit, fastest first; `least` of them however long they take to score.
  std::vector<FittingPlan> with_changes(int changes, std::size_t least) {
    return from(run_.plan, changes, least);
  }

  std::vector<FittingPlan> from(const Plan& plan, int changes, std::size_t least) {
    found_.clear();
    least_ = least;
    change(plan, 0, changes);
    std::stable_sort(found_.begin(), found_.end(),
                     [](const FittingPlan& a, const FittingPlan& b) { return a.score.step < b.score.step; });
    return std::move(found_);
  }

 private:
  void change(const Plan& plan, std::size_t first, int left) {
    if (left == 0) return consider(plan);
    const std::size_t end = kOthers.size() - (has_experts(run_.model) ? 0 : 1);
    for (std::size_t i = first; i < end; ++i)
      for (const Plan& other : kOthers[i](plan)) change(other, i + 1, left - 1);
  }

  void consider(const Plan& plan) {
    if (passes_ > kMostPasses && found_.size() >= least_) return;
    Run run = run_;
    run.plan = plan;
    run.plan.dp = 0;  // what the other degrees leave
    if (run.plan.shard > 0) run.plan.shard = 0;
    if (!check_run(run) || !fits(run)) return;
    run_fewer_layers_again(run);
    passes_ += events_of(job_of(run)) + kPassesAPlan;
    if (passes_ > kMostPasses && found_.size() >= least_) return;  // a long step must not read as "none fits"
    const Score score = evaluator_.score(run.plan, run.global_batch);
    found_.push_back(
        {run.plan, score, fit_probability(score.needed, run.cluster.gpu.usable, run.stack.described)});
  }

  bool fits(const Run& run) {
    const Weighed weighed = evaluator_.weigh(run.plan, run.global_batch);
    if (weighed.needed() > most_that_fits(run.cluster.gpu.usable, run.stack.described)) return false;
    const Bytes host = run.cluster.host_memory;
    return host <= Bytes(0) || weighed.host() <= host;
  }

  // Of a plan that runs all layers again where the one asked about did not: so few of each chunk as are enough, since each
  // takes a forward's time. More layers take fewer bytes, so halving finds them; a stack that runs all or none keeps to all.
  void run_fewer_layers_again(Run& run) {
    if (run.plan.recompute != Recompute::kFull || run.plan.recompute_layers > 0) return;
    const bool some = run_.plan.recompute == Recompute::kFull;
    if (some && run_.plan.recompute_layers == 0) return;
    const std::int64_t chunks = pipeline_of(run.plan).model_chunks();
    std::int64_t few = some ? run_.plan.recompute_layers : 0;          // not enough
    std::int64_t enough = (run.model.layers() + chunks - 1) / chunks;  // all
    Run with = run;
    while (enough - few > 1) {
      with.plan.recompute_layers = (few + enough) / 2;
      if (!check_run(with)) return;
      if (!fits(with)) {
        few = with.plan.recompute_layers;
      } else {
        enough = with.plan.recompute_layers;
        run.plan = with.plan;
      }
    }
  }

  const Run& run_;
  Evaluator& evaluator_;
  std::int64_t passes_ = 0;
  std::size_t least_ = 0;
  std::vector<FittingPlan> found_;
};

}  // namespace

std::vector<FittingPlan> nearest_fitting(const Run& run, Evaluator& evaluator, std::size_t most) {
  Search search(run, evaluator);
  std::vector<FittingPlan> nearest;
  for (int changes = 1; changes <= kMostChanges && nearest.size() < most; ++changes)
    for (FittingPlan& plan : search.with_changes(changes, most - nearest.size()))
      if (nearest.size() < most) nearest.push_back(std::move(plan));
  // Of each other training the one that changes least besides.
  for (const Plan& other : other_training(run.plan))
    for (int changes = 0; changes < kMostChanges && nearest.size() < most; ++changes)
      if (auto found = search.from(other, changes, 1); !found.empty()) {
        nearest.push_back(std::move(found.front()));
        break;
      }
  return nearest;
}

Prediction predict_or_nearest(const Run& run, std::shared_ptr<const CostSource> costs, StepTrace* trace) {
  Evaluator evaluator(run.model, run.cluster, run.stack, run.seq, std::move(costs), run.documents);
  return predict_or_nearest(run, evaluator, trace);
}

Prediction predict_or_nearest(const Run& run, Evaluator& evaluator, StepTrace* trace) {
  Prediction prediction = predict(run, evaluator, trace);
  if (!prediction.fits) prediction.would_fit = nearest_fitting(run, evaluator);
  return prediction;
}

}  // namespace foretrain
