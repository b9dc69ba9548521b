#include "validate/row_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "job/launch_check.h"
#include "job/run_check.h"
#include "spec/catalog.h"
#include "validate/row_model.h"
#include "validate/row_plan.h"

namespace foretrain {

namespace {

constexpr std::string_view kFallbackStack = "generic";
constexpr std::string_view kAllActivations =
    "activations";  // offloaded; of some operators alone: not modelled

std::optional<std::string> not_modelled(const MeasuredRow& row) {
  const auto stated = [](const std::string& word) { return !word.empty() && word != "none"; };
  if (stated(row.peft) && row.peft != "lora" && row.peft != "qlora") return fmt::format("peft {}", row.peft);
  if (stated(row.offload) && row.offload != kAllActivations && row.offload != "optimizer")
    return fmt::format("offload {}", row.offload);
  return std::nullopt;
}

// Short documents of fine-tuning, packed, where attention goes by document. How long they are, rows seldom say:
// instructions and answers of a few hundred tokens (SQuAD, Alpaca) are assumed.
Documents documents_of(const MeasuredRow& row, std::vector<std::string>& assumed) {
  constexpr double kUsualMean = 512;
  Documents documents;
  const bool by_document = row.packed == true && row.task != "pretrain" &&
                           !row.notes.starts("causal attention over the whole pack");
  if (!by_document) return documents;
  documents.mean = std::min(kUsualMean, static_cast<double>(*row.seq));
  assumed.push_back(fmt::format("documents={}", documents.mean));
  return documents;
}

std::optional<std::string> reason_to_skip(const MeasuredRow& row) {
  for (const std::string_view note : {"also_succeeded", "pp_exceeds_layers"})
    if (row.notes.says(note, "1")) return std::string(note);
  if (auto reason = not_modelled(row)) return reason;
  if (!row.step && !row.failed()) return "no step_s";
  if (const auto lacking = lacking_columns(row); !lacking.empty())
    return fmt::format("unknown {}", lacking.front());
  return std::nullopt;
}

// Checks all but what the stack launches.
Result<void> check_launched(Run& run) {
  std::vector<LaunchRule> rules = std::exchange(run.stack.rules, {});
  auto checked = check_run(run);
  run.stack.rules = std::move(rules);
  return checked;
}

std::string refused(const Error& error) { return "refused: " + error.message; }

// A node of other size has its share of the NICs.
void set_node_size(Cluster& cluster, std::int64_t gpus) {
  const double ratio = static_cast<double>(gpus) / static_cast<double>(cluster.gpus_per_node);
  cluster.inter.bandwidth *= ratio;
  cluster.nics = std::max<std::int64_t>(1, std::llround(static_cast<double>(cluster.nics) * ratio));
  if (cluster.nvlink_domain <= cluster.gpus_per_node) cluster.nvlink_domain = gpus;
  cluster.gpus_per_node = gpus;
  cluster.nvlink_domain = std::max(cluster.nvlink_domain, gpus);
}

// Names and their aliases alone, never paths: a table does not make us read files.
template <class T>
Result<const T*> known(std::map<std::string, std::optional<T>>& cache, const Catalog& catalog,
                       std::string_view kind, const std::string& name,
                       Result<T> (Catalog::*read)(std::string_view) const) {
  auto found = cache.find(name);
  if (found == cache.end()) {
    std::optional<T> spec;
    if (const auto meant = catalog.meant(kind, name)) {
      TRY_ASSIGN(spec, (catalog.*read)(*meant));
    }
    found = cache.emplace(name, std::move(spec)).first;
  }
  return found->second ? &*found->second : nullptr;
}

}  // namespace

std::vector<std::string_view> lacking_columns(const MeasuredRow& row) {
  const std::pair<std::string_view, bool> needed[] = {
      {"gpus", row.gpus.has_value()},
      {"layers", row.layers.has_value()},
      {"hidden", row.hidden.has_value()},
      {"heads", row.heads.has_value()},
      {"ffn", row.ffn.has_value() || !has_dense_layers(row)},
      {"ffn_type", row.ffn_type.has_value()},
      {"norm", row.norm.has_value()},
      {"positions", row.positions.has_value()},
      {"vocab", row.vocab.has_value()},
      {"tied", row.tied.has_value()},
      {"seq", row.seq.has_value()},
      {"tp", row.tp.has_value()},
      {"pp", row.pp.has_value()},
      {"vpp", row.vpp.has_value() || row.schedule != RowSchedule::kInterleaved},
      {"micro_batch", row.micro_batch.has_value()},
      {"global_batch", row.global_batch.has_value()},
      {"precision", row.precision.has_value()},
  };
  std::vector<std::string_view> lacking;
  for (const auto& [column, known] : needed)
    if (!known) lacking.push_back(column);
  return lacking;
}

Result<const Cluster*> RowRunner::cluster(const std::string& name) {
  return known(clusters_, catalog_, "clusters", name, &Catalog::cluster);
}
Result<const Gpu*> RowRunner::gpu(const std::string& name) {
  return known(gpus_, catalog_, "gpus", name, &Catalog::gpu);
}
Result<const Stack*> RowRunner::stack(const std::string& name) {
  return known(stacks_, catalog_, "stacks", name, &Catalog::stack);
}

Result<std::optional<Unsteady>> RowRunner::unsteady(const std::string& cluster) {
  auto found = unsteady_.find(cluster);
  if (found == unsteady_.end()) {
    std::optional<Unsteady> state;
    if (const auto meant = catalog_.meant("clusters", cluster)) {
      TRY_ASSIGN(const std::string text, catalog_.text("clusters", *meant));
      TRY_ASSIGN(const Node file, parse_yaml(text, *meant));
      TRY_ASSIGN(state, unsteady_of(file));
    }
    found = unsteady_.emplace(cluster, state).first;
  }
  return found->second;
}

// Sets the run's cluster and stack; the reason where one is not known.
Result<std::optional<std::string>> RowRunner::place(const MeasuredRow& row, Run& run) {
  TRY_ASSIGN(const Cluster* cluster, this->cluster(places_.named_by(row)));
  if (cluster == nullptr) return fmt::format("unknown cluster {}", row.cluster);
  run.cluster = *cluster;
  if (!row.gpu.empty() && row.gpu != run.cluster.gpu.name) {
    TRY_ASSIGN(const Gpu* gpu, this->gpu(row.gpu));
    if (gpu == nullptr) return fmt::format("unknown gpu {}", row.gpu);
    run.cluster.gpu = *gpu;
  }
  if (row.gpus_per_node) set_node_size(run.cluster, *row.gpus_per_node);

  const Stack* stack = nullptr;
  for (const std::string& name : names_.named_by(row)) {
    TRY_ASSIGN(stack, this->stack(name));
    if (stack != nullptr) break;
  }
  if (stack == nullptr) {
    TRY_ASSIGN(stack, this->stack(std::string(kFallbackStack)));
    if (stack == nullptr) return fail(fmt::format("no preset of stack '{}'", kFallbackStack));
  }
  if (stack->name != row.stack) run.assumed.push_back(fmt::format("stack {} as {}", row.stack, stack->name));
  run.stack = *stack;
  return std::nullopt;
}

Result<std::variant<RowRun, Skip>> RowRunner::run_of(const MeasuredRow& row) {
  if (const auto reason = reason_to_skip(row)) return Skip{*reason};

  RowRun out;
  Run& run = out.run;
  TRY_ASSIGN(const auto missing, place(row, run));
  if (missing) return Skip{*missing};
  auto model = model_of(row, run.assumed);
  if (!model) return Skip{refused(model.error())};
  auto plan = plan_of(row, run.stack, run.assumed);
  if (!plan) return Skip{refused(plan.error())};
  if (const auto reason = not_modelled(*plan)) return Skip{*reason};
  run.model = *std::move(model);
  run.plan = *std::move(plan);
  if (row.task == "sft" && run.plan.lora == 0) run.task = TrainingTask::kSft;
  run.gpus = *row.gpus;
  run.seq = *row.seq;
  run.documents = documents_of(row, run.assumed);
  run.plan.offload = row.offload == kAllActivations;
  run.global_batch = *row.global_batch;
  if (!row.experts) run.assumed.push_back("experts=0");
  out.recompute_open = !row.recompute;
  out.zero_open = !row.zero;
  if (const auto checked = check_launched(run); !checked) return Skip{refused(checked.error())};
  if (!out.recompute_open && !out.zero_open)
    if (const auto reason = launch_refusal(run)) run.assumed.push_back("it was launched, though " + *reason);
  TRY_ASSIGN(out.unsteady, unsteady(places_.named_by(row)));
  return out;
}

}  // namespace foretrain
