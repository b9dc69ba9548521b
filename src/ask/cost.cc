#include "ask/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ask/guard.h"
#include "base/field_mark.h"
#include "base/text.h"
#include "operators/description.h"
#include "operators/operator_text.h"
#include "samples/sample.h"
#include "spec/choice.h"

namespace foretrain {
namespace {

// As the presets assume where nobody has measured it.
constexpr Seconds kHostLaunch = microseconds(6);

bool is_profile(const std::string& word) { return !word.empty() && word != kAnalyticProfile; }

// Its GPU is the one asked for, or else the profile's.
Result<Gpu> gpu_of(const CostRequest& request, const Session& session) {
  std::string of_profile;
  if (is_profile(request.profile)) {
    TRY_ASSIGN(const LoadedProfile profile, of_field("profile", session.profiles().load(request.profile)));
    of_profile = profile.info.gpu;
  }
  if (request.gpu.empty() && of_profile.empty())
    return fail_field("gpu", fmt::format("cost: found no GPU, expected {} or a {} that was fitted on one",
                                         marked("gpu"), marked("profile")));
  TRY_ASSIGN(const Gpu gpu, of_field(request.gpu.empty() ? "profile" : "gpu",
                                     session.catalog().gpu(request.gpu.empty() ? of_profile : request.gpu)));
  if (!of_profile.empty() && gpu.name != of_profile)
    return fail_field(
        "profile", fmt::format("{} is of {}, but {} says {}", foretrain::quoted(request.profile), of_profile,
                               marked("gpu"), gpu.name));
  return gpu;
}

Result<OperatorKind> kind_of(const CostRequest& request) {
  const std::string& word = request.words.front();
  if (word == "gelu_tanh") return OperatorKind::kGelu;
  return of_field("words", parse_choice<OperatorKind>(word, kOperatorKindNames));
}

// The errors of words that were given as request.
Result<Operator> read_operator(const CostRequest& request, std::string_view impl, std::string_view pass) {
  const std::vector<std::string> sizes(request.words.begin() + 1, request.words.end());
  const OperatorPositions fields{{"words"}, {"impl"}, {"pass"}, {"dtype"}, {"words"}};
  const auto kind = kind_of(request);
  const Dtype usual = kind ? description(*kind).usual_dtype : Dtype::kBf16;
  auto op = parse_operator(request.words.front(), impl, pass,
                           request.dtype.empty() ? name(usual) : std::string_view(request.dtype),
                           join(sizes, " "), fields);
  if (!op) return fail_field(op.error().at.file, op.error().message);
  return op;
}

// The word given, or those that the profile has models of, or the usual one. What only samples are (gradients
// of zeros, an fp32 scale) is shown to who asks for it.
std::vector<std::string> impls_of(const CostRequest& request, OperatorKind kind, const ProfileStore& store,
                                  const std::string& profile) {
  if (!request.impl.empty()) return {request.impl};
  std::vector<std::string> impls;
  if (is_profile(profile))
    if (const auto loaded = store.load(profile))
      for (const OperatorModelView& model : loaded->models.models()) {
        const std::string impl(name(model.key.impl));
        const bool trained = model.key.impl != Impl::kZeroGrad && model.key.impl != Impl::kFp32Scale;
        if (model.key.kind == kind && trained && std::find(impls.begin(), impls.end(), impl) == impls.end())
          impls.push_back(impl);
      }
  if (impls.empty()) impls.emplace_back(name(description(kind).usual_impl));
  return impls;
}

// The pass given, or every one that the operator has.
Result<std::vector<Operator>> operators_of(const CostRequest& request, OperatorKind kind,
                                           const std::string& impl) {
  if (!request.pass.empty()) {
    TRY_ASSIGN(const Operator op, read_operator(request, impl, request.pass));
    return std::vector{op};
  }
  const bool backward_only = impl == name(Impl::kZeroGrad);
  const std::string_view first = is_optimizer(kind) ? "step" : backward_only ? "bwd" : "fwd";
  TRY_ASSIGN(const Operator op, read_operator(request, impl, first));
  if (backward_only) return std::vector{op};
  std::vector<Operator> ops = {op};
  for (const std::string_view pass : {"bwd", "dgrad", "wgrad"})
    if (const auto further = read_operator(request, impl, pass)) ops.push_back(*further);
  return ops;
}

// A GPU without a rate for a product's format cannot run it.
Result<void> check_rate(const Operator& op, const Gpu& gpu) {
  if (!is_product(op.kind) || gpu.rate(op.dtype).value > 0) return {};
  return fail_field("words", fmt::format("{} states no rate for {}, found {}", printable(gpu.name),
                                         name(op.dtype), operator_label(op)));
}

// Whether its loop was too short for its clock to settle.
bool is_short(const Sample* sample) {
  return sample != nullptr && sample->loop_s && Seconds(*sample->loop_s) < kSettledLoop;
}

// The share of the reference clock at which an operator runs in a loop: alone it has the one that the governor
// gives a loop so long, a steady one where the sample does not say; between other work it has the loop's clock,
// which the sample states.
double clock_of(const OperatorCost& cost, const CostSource& costs, const Gpu& gpu, const Sample* sample) {
  const PowerModel* power = costs.power();
  if (power == nullptr) return 1;
  const double highest = std::min(gpu.clock_max_mhz / power->reference_mhz, 1.0);
  if (sample != nullptr && sample->product_share.value_or(1) < 1 && sample->clock_mhz)
    return std::min(*sample->clock_mhz / power->reference_mhz, highest);
  PowerLoad load;
  add(load, cost);
  // Over and over on the same operands: what fits into the cache costs no energy of the memory.
  if (sample != nullptr && !sample->product_share && bytes(sample->op) <= gpu.l2)
    load.fixed_joules -= bytes(sample->op).value * power->joules_per_byte;
  double cap = sample != nullptr ? sample->limit_w.value_or(gpu.power_cap_w) : gpu.power_cap_w;
  if (is_short(sample)) cap = loop_cap(cap, Seconds(*sample->loop_s));
  return settled_clock(load, *power, cap, highest);
}

// Calls of one operator on two machines of one kind: their host times differ by 21 % in the mean (2,462
// passes on two machines with an H200).
constexpr double kHostSpread = 0.25;

// At its clock. A sample that tells the host's time but no share was called over and over with nothing that
// kept the host ahead: a call takes as long as the slower of the two.
void run_steadily(CostRow& row, const CostSource& costs, const Gpu& gpu, const Sample* sample) {
  const double clock = clock_of(row.cost, costs, gpu, sample);
  const bool may_wait = sample != nullptr && sample->host_us && !sample->product_share;
  if (const PowerModel* power = costs.power(); power != nullptr && sample != nullptr && sample->clock_mhz) {
    const Seconds there = gpu_at(row.cost, std::min(*sample->clock_mhz / power->reference_mhz, 1.0));
    row.us_at_measured_clock = (may_wait ? std::max(there, row.cost.host) : there).value * 1e6;
  }
  row.cost.gpu = gpu_at(row.cost, clock);
  const double clock_spread = is_short(sample) ? kShortLoopClockSpread : clock < 0.99 ? kClockSpread : 0;
  if (clock_spread > 0) row.cost.spread = std::hypot(row.cost.spread, clock_spread * row.cost.clocked_share);
  if (const PowerModel* power = costs.power()) row.clock_mhz = clock * power->reference_mhz;
  if (!may_wait || row.cost.host <= row.cost.gpu) return;
  row.cost.gpu = row.cost.host;
  row.cost.spread = kHostSpread;
}

Result<void> check_words(const CostRequest& request) {
  if (request.words.empty() && !request.samples)
    return fail_field("words",
                      "found nothing, expected an operator and its sizes (linear m=8192 k=4096 n=4096) or a "
                      "table of samples");
  for (const auto& [field, word] :
       {std::pair{"impl", &request.impl}, {"pass", &request.pass}, {"dtype", &request.dtype}})
    if (request.samples && !word->empty()) return fail_field(field, "a table of samples states its own");
  return {};
}

// The GPU alone, as the cluster that costs are asked for.
Cluster alone(Gpu gpu) {
  Cluster cluster;
  cluster.gpu = std::move(gpu);
  cluster.name = cluster.gpu.name;
  cluster.gpus_per_node = cluster.nvlink_domain = 1;
  cluster.host_launch = kHostLaunch;
  return cluster;
}

Result<CostReport> costed(Session& session, CostRequest& request) {
  TRY(check_words(request));
  TRY_ASSIGN(Gpu gpu, gpu_of(request, session));
  Cluster cluster = alone(std::move(gpu));
  // Nobody names a machine: it is the one that was sampled, where the profile states its host.
  const std::string profile = request.profile.empty() ? cluster.gpu.name : request.profile;
  if (const auto loaded = session.profiles().load(profile); loaded && loaded->info.host_launch)
    cluster.host_launch = *loaded->info.host_launch;
  TRY_ASSIGN(const ProfileStore::Choice choice,
             of_field("profile", session.costs_for(cluster, request.profile)));
  CostReport report{cluster.gpu, choice.profile, {}};
  const auto add = [&](const Operator& op, const Sample* sample) -> Result<void> {
    TRY(check_rate(op, cluster.gpu));
    report.rows.push_back({op, choice.costs->cost(op), {}, {}, {}, {}});
    run_steadily(report.rows.back(), *choice.costs, cluster.gpu, sample);
    return {};
  };
  if (request.samples) {
    TRY_ASSIGN(const std::vector<Sample> samples, parse_samples(*std::move(request.samples)));
    for (const Sample& sample : samples) {
      TRY(add(sample.op, &sample));
      report.rows.back().measured_us = sample.us;
      report.rows.back().measured_host_us = sample.host_us;
    }
    return report;
  }
  TRY_ASSIGN(const OperatorKind kind, kind_of(request));
  const std::string named = request.profile.empty() ? choice.profile : request.profile;
  for (const std::string& impl : impls_of(request, kind, session.profiles(), named)) {
    TRY_ASSIGN(const std::vector<Operator> ops, operators_of(request, kind, impl));
    for (const Operator& op : ops) TRY(add(op, nullptr));
  }
  return report;
}

}  // namespace

Result<CostReport> ask(Session& session, CostRequest request) {
  return guarded([&] { return costed(session, request); });
}

bool is_operator(std::string_view word) {
  return parse_choice<OperatorKind>(word, kOperatorKindNames).has_value();
}

}  // namespace foretrain
