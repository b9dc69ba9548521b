// foretrain cost: what one operator takes, or a table of samples beside what is predicted for them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/text.h"
#include "commands.h"
#include "cost/profile_store.h"
#include "operators/description.h"
#include "operators/operator_text.h"
#include "report/cost_report.h"
#include "samples/sample.h"
#include "spec/catalog.h"
#include "spec/choice.h"

namespace foretrain {
namespace {

// As the presets assume where nobody has measured it.
constexpr Seconds kHostLaunch = microseconds(6);

// A path, unless it is the name of an operator.
bool is_samples(const std::string& word) {
  if (parse_choice<OperatorKind>(word, kOperatorKindNames)) return false;
  return word.ends_with(".csv") || word.find('/') != std::string::npos || is_file(word) || is_folder(word);
}

bool is_profile(const std::string& word) { return !word.empty() && word != kAnalyticProfile; }

// Its GPU is the one asked for, or else the profile's.
Result<Gpu> gpu_of(const CostOptions& options, const ProfileStore& store, const Catalog& catalog) {
  std::string of_profile;
  if (is_profile(options.profile)) {
    const auto profile = store.load(options.profile);
    if (!profile) return at_option("--profile", profile.error());
    of_profile = profile->info.gpu;
  }
  if (options.gpu.empty() && of_profile.empty())
    return fail("cost: found no GPU, expected --gpu or a --profile that was fitted on one");
  const auto gpu = catalog.gpu(options.gpu.empty() ? of_profile : options.gpu);
  if (!gpu) return at_option(options.gpu.empty() ? "--profile" : "--gpu", gpu.error());
  if (!of_profile.empty() && gpu->name != of_profile)
    return fail(fmt::format("--profile: {} is of {}, but --gpu says {}", foretrain::quoted(options.profile),
                            of_profile, gpu->name));
  return *gpu;
}

// The errors of words that were given as options.
Result<Operator> read_operator(const CostOptions& options, std::string_view impl, std::string_view pass) {
  const std::vector<std::string> sizes(options.words.begin() + 1, options.words.end());
  const OperatorPositions options_of{{"cost"}, {"--impl"}, {"--pass"}, {"--dtype"}, {"cost"}};
  auto op = parse_operator(options.words.front(), impl, pass, options.dtype.empty() ? "bf16" : options.dtype,
                           join(sizes, " "), options_of);
  if (!op) return fail(op.error().at.file + ": " + op.error().message);
  return op;
}

Result<OperatorKind> kind_of(const CostOptions& options) {
  const std::string& word = options.words.front();
  if (word == "gelu_tanh") return OperatorKind::kGelu;
  const auto kind = parse_choice<OperatorKind>(word, kOperatorKindNames);
  if (!kind) return at_option("cost", kind.error());
  return *kind;
}

// The word given, or those that the profile has models of, or the usual one. What only samples are (gradients
// of zeros, an fp32 scale) is shown to who asks for it.
std::vector<std::string> impls_of(const CostOptions& options, OperatorKind kind, const ProfileStore& store,
                                  const std::string& profile) {
  if (!options.impl.empty()) return {options.impl};
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
Result<std::vector<Operator>> operators_of(const CostOptions& options, OperatorKind kind,
                                           const std::string& impl) {
  if (!options.pass.empty()) {
    TRY_ASSIGN(const Operator op, read_operator(options, impl, options.pass));
    return std::vector{op};
  }
  const bool backward_only = impl == name(Impl::kZeroGrad);
  const std::string_view first = is_optimizer(kind) ? "step" : backward_only ? "bwd" : "fwd";
  TRY_ASSIGN(const Operator op, read_operator(options, impl, first));
  if (backward_only) return std::vector{op};
  std::vector<Operator> ops = {op};
  for (const std::string_view pass : {"bwd", "dgrad", "wgrad"})
    if (const auto further = read_operator(options, impl, pass)) ops.push_back(*further);
  return ops;
}

// A GPU without a rate for a product's format cannot run it.
Result<void> check_rate(const Operator& op, const Gpu& gpu) {
  if (!is_product(op.kind) || gpu.rate(op.dtype).value > 0) return {};
  return fail(fmt::format("cost: {} states no rate for {}, found {}", printable(gpu.name), name(op.dtype),
                          operator_label(op)));
}

// The share of the reference clock at which an operator runs in a steady loop: alone it settles where the
// governor says; between other work it has the loop's clock, which the sample states.
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
  return settled_clock(
      load, *power, sample != nullptr ? sample->limit_w.value_or(gpu.power_cap_w) : gpu.power_cap_w, highest);
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
  if (clock < 0.99) row.cost.spread = std::hypot(row.cost.spread, kClockSpread * row.cost.clocked_share);
  if (const PowerModel* power = costs.power()) row.clock_mhz = clock * power->reference_mhz;
  if (!may_wait || row.cost.host <= row.cost.gpu) return;
  row.cost.gpu = row.cost.host;
  row.cost.spread = kHostSpread;
}

Result<std::string> costed(const CostOptions& options, const std::string& presets_folder) {
  if (options.words.empty())
    return fail(
        "cost: found nothing, expected an operator and its sizes (linear m=8192 k=4096 n=4096) or a "
        "table of samples");
  const bool table = is_samples(options.words.front());
  if (table && options.words.size() > 1)
    return fail("cost: unexpected argument " + foretrain::quoted(options.words[1]) + " after a table");
  for (const auto& [option, word] :
       {std::pair{"--impl", &options.impl}, {"--pass", &options.pass}, {"--dtype", &options.dtype}})
    if (table && !word->empty()) return fail(fmt::format("{}: a table of samples states its own", option));
  if (!table && options.rows) return fail("--rows: is for a table of samples");

  const ProfileStore store(disk(), presets_folder);
  Cluster cluster;
  TRY_ASSIGN(cluster.gpu, gpu_of(options, store, Catalog(disk(), presets_folder)));
  cluster.name = cluster.gpu.name;
  cluster.gpus_per_node = cluster.nvlink_domain = 1;
  cluster.host_launch = kHostLaunch;
  const auto choice = store.costs_for(cluster, options.profile);
  if (!choice) return at_option("--profile", choice.error());

  CostReport report{cluster.gpu, choice->profile, {}};
  const auto add = [&](const Operator& op, const Sample* sample) -> Result<void> {
    TRY(check_rate(op, cluster.gpu));
    report.rows.push_back({op, choice->costs->cost(op), {}, {}, {}, {}});
    run_steadily(report.rows.back(), *choice->costs, cluster.gpu, sample);
    return {};
  };
  if (table) {
    TRY_ASSIGN(const std::vector<Sample> samples, read_samples(disk(), options.words.front()));
    for (const Sample& sample : samples) {
      TRY(add(sample.op, &sample));
      report.rows.back().measured_us = sample.us;
      report.rows.back().measured_host_us = sample.host_us;
    }
    return options.json ? cost_json(report) : sample_cost_text(report, options.rows);
  }
  TRY_ASSIGN(const OperatorKind kind, kind_of(options));
  const std::string named = options.profile.empty() ? choice->profile : options.profile;
  for (const std::string& impl : impls_of(options, kind, store, named)) {
    TRY_ASSIGN(const std::vector<Operator> ops, operators_of(options, kind, impl));
    for (const Operator& op : ops) TRY(add(op, nullptr));
  }
  return options.json ? cost_json(report) : operator_cost_text(report);
}

}  // namespace

int run_cost(const CostOptions& options, const std::string& presets_folder) {
  const auto text = costed(options, presets_folder);
  return text ? answer(*text) : refuse(text.error());
}

}  // namespace foretrain
