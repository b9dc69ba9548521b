#include "search/one_change.h"

#include <algorithm>
#include <array>
#include <optional>

#include "job/choices.h"
#include "job/run_check.h"

namespace foretrain {
namespace {

constexpr std::int64_t kMostTimes = 4;  // of a degree, up or down
constexpr std::int64_t kMostMicroBatch = 64;

using Plans = std::vector<Plan>;
using Others = void (*)(const Run& run, Plans& out);

template <class Change>
void add(const Plan& plan, Plans& out, Change change) {
  out.push_back(plan);
  change(out.back());
}

// Twice and four times as much, and as little.
template <std::int64_t Plan::*kMember>
void degrees(const Run& run, Plans& out) {
  const Plan& plan = run.plan;
  for (std::int64_t times = 2; times <= kMostTimes; times *= 2) {
    if (plan.*kMember % times == 0) add(plan, out, [&](Plan& p) { p.*kMember /= times; });
    add(plan, out, [&](Plan& p) { p.*kMember *= times; });
  }
}

// Of stages: what was written for as many as there were does not hold for others.
void stages(const Run& run, Plans& out) {
  Run plain = run;
  plain.plan.layers_per_stage.clear();
  const std::size_t first = out.size();
  degrees<&Plan::pp>(plain, out);
  for (std::size_t i = first; i < out.size(); ++i) {
    if (out[i].pp > 1) continue;
    out[i].schedule = ScheduleKind::k1f1b;
    out[i].vpp = 1;
  }
}

void micro_batches(const Run& run, Plans& out) {
  for (std::int64_t size = 1; size <= kMostMicroBatch; size *= 2)
    if (size != run.plan.micro_batch) add(run.plan, out, [&](Plan& p) { p.micro_batch = size; });
}

void chunks(const Run& run, Plans& out) {
  if (run.plan.pp == 1) return;
  for (const std::int64_t vpp : {1, 2, 3, 4, 5, 6, 8, 10, 12})
    if (vpp != run.plan.vpp)
      add(run.plan, out, [&](Plan& p) {
        p.vpp = vpp;
        p.schedule = vpp > 1 ? ScheduleKind::kInterleaved : ScheduleKind::k1f1b;
        p.layers_per_stage.clear();
      });
}

void zeros(const Run& run, Plans& out) {
  for (int zero = 0; zero <= 3; ++zero)
    if (zero != run.plan.zero)
      add(run.plan, out, [&](Plan& p) {
        p.zero = zero;
        if (zero == 0) p.shard = 0;
      });
}

// All, a half and a quarter of the layers, some of their parts, nothing.
void recomputations(const Run& run, Plans& out) {
  const auto again = [&](Recompute recompute, std::int64_t layers) {
    add(run.plan, out, [&](Plan& p) {
      p.recompute = recompute;
      p.recompute_layers = layers;
      if (recompute != Recompute::kSelective) p.recompute_modules = {};
    });
  };
  again(Recompute::kNone, 0);
  again(Recompute::kSelective, 0);
  again(Recompute::kFull, 0);
  const std::int64_t each = run.model.layers() / std::max<std::int64_t>(1, run.plan.pp * run.plan.vpp);
  for (const std::int64_t part : {2, 4})
    if (each / part >= 1) again(Recompute::kFull, each / part);
}

void sequence_parallel(const Run& run, Plans& out) {
  if (run.plan.tp > 1) add(run.plan, out, [](Plan& p) { p.sp = !p.sp; });
}

template <std::optional<bool> Plan::*kMember>
void flag(const Run& run, Plans& out) {
  for (const bool is_on : {true, false})
    if (run.plan.*kMember != is_on) add(run.plan, out, [&](Plan& p) { p.*kMember = is_on; });
}

void attention(const Run& run, Plans& out) {
  for (const AttentionKind kind : {AttentionKind::kFlash, AttentionKind::kUnfused})
    if (run.plan.attention != kind)
      add(run.plan, out, [&](Plan& p) {
        p.attention = kind;
        p.attention_kernel.reset();
      });
}

void dispatchers(const Run& run, Plans& out) {
  if (!has_experts(run.model)) return;
  for (int kind = 0; kind < kDispatcherCount; ++kind)
    if (run.plan.dispatcher != static_cast<Dispatcher>(kind))
      add(run.plan, out, [&](Plan& p) { p.dispatcher = static_cast<Dispatcher>(kind); });
  add(run.plan, out, [](Plan& p) { p.overlap_dispatch = !p.overlap_dispatch; });
}

void splits(const Run& run, Plans& out) {
  if (!run.plan.layers_per_stage.empty()) add(run.plan, out, [](Plan& p) { p.layers_per_stage.clear(); });
}

struct Choice {
  std::string_view name;
  Others others;
};
constexpr Choice kChoices[] = {{"overlap_grad_reduce", flag<&Plan::overlap_grad_reduce>},
                               {"overlap_param_gather", flag<&Plan::overlap_param_gather>},
                               {"tp_overlap", flag<&Plan::tp_overlap>},
                               {"loss_fusion", flag<&Plan::loss_fusion>},
                               {"overlap_shared", flag<&Plan::overlap_shared>},
                               {"permute_fusion", flag<&Plan::permute_fusion>},
                               {"router_fusion", flag<&Plan::router_fusion>},
                               {"sp", sequence_parallel},
                               {"recompute", recomputations},
                               {"micro_batch", micro_batches},
                               {"zero", zeros},
                               {"vpp", chunks},
                               {"attention", attention},
                               {"dispatcher", dispatchers},
                               {"layers_per_stage", splits},
                               {"tp", degrees<&Plan::tp>},
                               {"pp", stages},
                               {"cp", degrees<&Plan::cp>},
                               {"ep", degrees<&Plan::ep>}};

// The run with another plan, where there is such a run.
std::optional<Run> checked(const Run& run, const Plan& plan) {
  Run other = run;
  other.plan = plan;
  if (!check_run(other)) return std::nullopt;
  return other;
}

}  // namespace

std::vector<OneChange> one_change_away(const Run& run) {
  std::vector<OneChange> out;
  for (const Choice& choice : kChoices) {
    Plans plans;
    choice.others(run, plans);
    for (Plan& plan : plans) {
      plan.dp = 0;  // what the other degrees leave
      std::optional<Run> other = checked(run, plan);
      if (!other && plan.shard > 0) {  // fewer data ranks, which that group does not divide
        plan.shard = 0;
        other = checked(run, plan);
      }
      if (!other || other->plan == run.plan) continue;  // what the change gave is what was there
      out.push_back({choice.name, *std::move(other)});
    }
  }
  return out;
}

}  // namespace foretrain
