#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "job/job.h"
#include "report/calibration_report.h"
#include "report/memory_report.h"
#include "report/predict_report.h"
#include "report/table.h"
#include "report/text_parts.h"
#include "spec/documents_text.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

constexpr std::size_t kOperatorsShown = 8;

// Four significant digits, in words that people pay bills by: "126,700", "3.812".
std::string rounded(double value) {
  if (!(value >= 1000) || value >= 1e15) return fmt::format("{:.4g}", value);
  const double step = std::pow(10.0, std::floor(std::log10(value)) - 3.0);
  return with_commas(std::llround(std::round(value / step) * step));
}

// What plan and model may leave to the stack, as it came out: "flash attention, fp32 gradients, reduced in
// fp32 beside the backward, dropout 0.1".
std::string resolved(const Run& run) {
  const Job job = job_of(run);
  const Choices& choices = job.choices;
  std::string out = fmt::format(
      "{} attention, {} gradients",
      choices.attention_kernel ? kAttentionKernelNames[static_cast<std::size_t>(*choices.attention_kernel)]
                               : kAttentionNames[static_cast<std::size_t>(choices.attention)],
      name(choices.grad_dtype));
  if (job.mesh.data_ranks() > 1)
    out += fmt::format(", reduced in {} {} the backward", name(choices.reduce_dtype),
                       choices.overlap_grad_reduce ? "beside" : "after");
  if (const AdapterChoices& adapters = choices.adapters; adapters.frozen()) {
    out += fmt::format(", {} adapters", name(adapters.dtype));
    if (adapters.quantised())
      out += fmt::format(" beside {}{} weights", kBaseFormatNames[static_cast<std::size_t>(adapters.base)],
                         adapters.double_quant ? " doubly quantised" : "");
  }
  const double dropout = dropout_of(run.model, run.stack);
  out += dropout > 0 ? fmt::format(", dropout {}", dropout) : ", no dropout";
  if (job.pipeline.chunks_per_stage > 1)
    out += fmt::format(", {} schedule with {} chunks a stage", name(job.pipeline.schedule),
                       job.pipeline.chunks_per_stage);
  return out;
}

std::string header(const Run& run, const Prediction& p) {
  std::string out =
      fmt::format("{} ({} parameters{}) on {}: {} x {}, stack {}, profile {}\n", printable(run.model.name),
                  human_count(static_cast<double>(p.params)),
                  p.frozen ? fmt::format(", frozen; {} of adapters", with_commas(p.trained)) : "",
                  printable(run.cluster.name), run.gpus, printable(run.cluster.gpu.name),
                  printable(run.stack.name), printable(run.profile));
  out += fmt::format("plan        {}\n", to_text(run.plan));
  out += fmt::format("choices     {}\n", resolved(run));
  const std::int64_t micro_batches = run.micro_batches();
  const std::string documents =
      run.documents.stated() ? fmt::format(" in documents of {}", to_text(run.documents)) : "";
  out += fmt::format("batch       {} x {} tokens{} a step, {} micro-batch{}\n\n", run.global_batch, run.seq,
                     documents, micro_batches, micro_batches == 1 ? "" : "es");
  return out;
}

// "1467 MHz, held down by the power cap of 700 W"; of several stages the slowest and the fastest. Empty where
// the costs do not know what power does.
std::string clock_line(const Run& run, const Prediction& p) {
  if (p.stages.empty() || !p.stages.front().clock_mhz) return "";
  double low = *p.stages.front().clock_mhz, high = low;
  for (const StagePrediction& stage : p.stages) {
    low = std::min(low, stage.clock_mhz.value_or(low));
    high = std::max(high, stage.clock_mhz.value_or(high));
  }
  const std::string range = std::lround(low) == std::lround(high)
                                ? fmt::format("{:.0f}", low)
                                : fmt::format("{:.0f} to {:.0f}", low, high);
  const bool capped = low < run.cluster.gpu.clock_max_mhz * 0.999;
  return fmt::format("clock       {} MHz, {} the power cap of {:.0f} W\n", range,
                     capped ? "held down by" : "below", run.cluster.gpu.power_cap_w);
}

// Activations that wait in the host's memory.
std::string host_line(const Run& run, const Prediction& p) {
  if (p.host == Bytes(0)) return "";
  const Bytes memory = run.cluster.host_memory;
  std::string out = fmt::format("host        keeps {} a node", human_bytes(p.host));
  if (memory == Bytes(0)) return out + "; how much memory it has is not stated\n";
  return out + fmt::format(", {} its {}\n", p.host > memory ? "more than" : "of", human_bytes(memory));
}

// What the interval rests on.
std::string rests_on(const Prediction& p) {
  const auto share = [&](Origin origin) { return 100 * p.origin_shares[static_cast<std::size_t>(origin)]; };
  const std::pair<std::string_view, double> parts[] = {
      {"sampled", share(Origin::kMeasured) + share(Origin::kInterpolated)},
      {"extrapolated", share(Origin::kExtrapolated)},
      {"derived", share(Origin::kDerived)},
      {"analytic", share(Origin::kAnalytic)}};
  std::vector<std::string> words;
  for (const auto& [word, percent] : parts)
    if (percent >= 0.5) words.push_back(fmt::format("{:.0f} % {}", percent, word));
  constexpr std::array<std::string_view, 3> kStacks = {"a stack whose steps were measured",
                                                       "a stack described by its sources",
                                                       "a stack that nobody described"};
  return fmt::format("interval    rests on {}{}{}\n", fmt::join(words, ", "), words.empty() ? "" : "; ",
                     kStacks[static_cast<std::size_t>(p.uncertain.described)]);
}

std::string summary(const Run& run, const Prediction& p, const Training* whole, const Standing* standing) {
  std::string out =
      fmt::format("step        {}, 80 % interval {} to {}\n", human_seconds(Seconds(p.step.value)),
                  human_seconds(Seconds(p.step.low())), human_seconds(Seconds(p.step.high())));
  out += rests_on(p);
  if (standing != nullptr) out += standing_text(*standing);
  if (p.jitter)
    out +=
        fmt::format("typical     {}, the median with this cluster's jitter; one step in ten takes over {}\n",
                    human_seconds(p.typical), human_seconds(p.jitter->p90));
  out += fmt::format("throughput  {} tokens/s/GPU, {} tokens/s in all, MFU {:.1f} %\n",
                     human_count(p.tokens_per_s_per_gpu),
                     human_count(p.tokens_per_s_per_gpu * static_cast<double>(run.gpus)), 100 * p.mfu);
  out += fit_line(p);
  if (!p.fits) out += "            all times are those of GPUs with memory enough\n";
  out += host_line(run, p);
  out += clock_line(run, p);
  if (whole == nullptr) return out;
  out += fmt::format(
      "training    {} tokens: {} steps, {} (80 % interval {} to {}){}, {} GPU-hours",
      human_count(whole->tokens), rounded(whole->steps), human_seconds(whole->duration),
      human_seconds(whole->low), human_seconds(whole->high),
      whole->pauses > Seconds(0) ? fmt::format(", {} of it paused", human_seconds(whole->pauses)) : "",
      rounded(whole->gpu_hours));
  if (whole->usd)
    out += fmt::format(", {} USD ({} a GPU-hour)", rounded(*whole->usd), *run.cluster.price_per_gpu_hour);
  return out + "\n";
}

std::string time_by_cause(const Prediction& p) {
  std::string where;
  if (p.stages.size() > 1)
    where = fmt::format(" (the busiest stage, {} of {})", p.busiest_stage + 1, p.stages.size());
  return fmt::format("\nwhere the time goes{}\n", where) +
         share_table(shares_of(p.breakdown, kStepCauseNames, p.step.value), p.step.value);
}

std::string time_by_operator(const Prediction& p) {
  std::vector<Share> shares = shares_of(p.operators, kOperatorKindNames, p.step.value);
  if (shares.empty()) return "";
  if (shares.size() > kOperatorsShown + 1) {
    Share rest{fmt::format("{} others", shares.size() - kOperatorsShown), Seconds()};
    for (std::size_t i = kOperatorsShown; i < shares.size(); ++i) rest.seconds += shares[i].seconds;
    shares.resize(kOperatorsShown);
    shares.push_back(std::move(rest));
  }
  return fmt::format("\nby operator{}\n", p.stages.size() > 1 ? " (same stage)" : "") +
         share_table(shares, p.step.value);
}

template <class Cells>
std::string table_by_stage(const Prediction& p, std::vector<std::string> head, Cells cells_of) {
  std::vector<std::vector<std::string>> rows;
  for (const StagePrediction& stage : p.stages) rows.push_back(cells_of(stage));
  return stage_table(std::move(head), rows);
}

std::string time_by_stage(const Prediction& p) {
  if (p.stages.size() < 2) return "";
  const TimeUnit unit = unit_of(p.step.value);
  const auto cells_of = [&](const StagePrediction& stage) -> std::vector<std::string> {
    std::vector<std::string> cells = {fmt::format("{}", stage.layers), unit.tell(stage.forward),
                                      unit.tell(stage.backward), unit.tell(stage.busy),
                                      unit.tell(stage.idle)};
    if (stage.clock_mhz) cells.push_back(fmt::format("{:.0f}", *stage.clock_mhz));
    return cells;
  };
  std::vector<std::string> head = {"layers", "forward", "backward", "busy", "idle"};
  if (p.stages.front().clock_mhz) head.emplace_back("MHz");
  return fmt::format("\ntime by stage ({}; forward and backward of one micro-batch)\n", unit.name) +
         table_by_stage(p, std::move(head), cells_of);
}

std::string origins(const Prediction& p) {
  std::vector<std::string> parts;
  for (int i = 0; i < kOriginCount; ++i) {
    const double share = 100 * p.origin_shares[static_cast<std::size_t>(i)];
    if (share <= 0) continue;
    parts.push_back(fmt::format("{} {}", name(static_cast<Origin>(i)),
                                share < 0.5 ? "< 1 %" : fmt::format("{:.0f} %", share)));
  }
  if (parts.empty()) return "";
  return "\nwhere the numbers come from: " + join(parts, ", ") + "\n";
}

}  // namespace

std::string predict_text(const Run& run, const Prediction& prediction, const Training* whole,
                         const Standing* standing) {
  std::string out = header(run, prediction) + summary(run, prediction, whole, standing) +
                    time_by_cause(prediction) + time_by_operator(prediction) + time_by_stage(prediction) +
                    memory_text(prediction) + would_fit_text(run, prediction) + origins(prediction);
  if (!prediction.assumed.empty()) out += "assumed\n";
  for (const std::string& line : prediction.assumed) out += "  " + printable(line) + "\n";
  return out;
}

}  // namespace foretrain
