#include "report/memory_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "predict/uncertainty.h"
#include "report/text_parts.h"
#include "spec/plan_text.h"
#include "trace/memory_track.h"

namespace foretrain {
namespace {

std::string gibs(Bytes b) { return fmt::format("{:.2f}", b / gib(1)); }

// Largest first; what rounds to nothing is left out.
std::vector<std::string> told(std::vector<std::pair<std::string, Bytes>> parts) {
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> out;
  for (const auto& [name, bytes] : parts)
    if (bytes >= gib(0.005)) out.push_back(fmt::format("{} {}", name, gibs(bytes)));
  return out;
}

std::vector<std::pair<std::string, Bytes>> activation_parts(const StagePrediction& stage) {
  std::vector<std::pair<std::string, Bytes>> parts;
  for (std::size_t k = 0; k < kOperatorKindCount; ++k) {
    const bool logits = static_cast<OperatorKind>(k) == OperatorKind::kCrossEntropy;
    parts.emplace_back(logits ? "logits" : std::string(kOperatorKindNames[k]), stage.saved[k]);
  }
  parts.emplace_back("kept for weights", stage.waiting);
  parts.emplace_back("gathered units", stage.gathered);
  parts.emplace_back("sp buffers", stage.shared_buffers);
  parts.emplace_back("the pass at work", stage.working);
  return parts;
}

}  // namespace

std::string fit_words(const Prediction& p) {
  const double chance = p.fit_probability;
  switch (verdict_of(chance)) {
    case Verdict::kFits:
      return fmt::format("fits ({})", sure(chance));
    case Verdict::kMayNotFit:
      return fmt::format("may not fit ({:.0f} % that it does)", 100 * chance);
    case Verdict::kDoesNotFit:
      break;
  }
  return fmt::format("does not fit ({})", sure(1 - chance));
}

std::string fit_line(const Prediction& p) {
  std::string out =
      fmt::format("memory      needs {} of {} usable: {}; nvidia-smi would show {}\n", human_bytes(p.needed),
                  human_bytes(p.usable), fit_words(p), human_bytes(p.peak));
  if (p.loading > Bytes(0))
    out += fmt::format("loading     {} on a GPU while frozen weights are loaded{}\n", human_bytes(p.loading),
                       p.loading > p.peak_reserved ? ", more than the step needs" : "");
  return out;
}

std::vector<MemoryPart> memory_parts(const StagePrediction& s) {
  const Bytes logits = s.saved[static_cast<std::size_t>(OperatorKind::kCrossEntropy)];
  Bytes held = Bytes(0) - logits;
  for (const Bytes saved : s.saved) held += saved;
  const Bytes communication = s.states.buffers + s.gathered + s.shared_buffers;
  const Bytes states = s.states.weights + s.states.gradients + s.states.optimizer + s.states.workspaces;
  std::vector<MemoryPart> parts = {{"weights", "weights", s.states.weights},
                                   {"gradients", "gradients", s.states.gradients},
                                   {"optimizer", "optimizer", s.states.optimizer}};
  if (s.states.workspaces > Bytes(0))
    parts.push_back({"workspaces", "workspaces of products", s.states.workspaces});
  if (s.peak_in_step) {
    parts.push_back({"buffers", "communication buffers", s.states.buffers});
    parts.push_back({"step", "optimizer's step", s.memory.allocated - states - s.states.buffers});
  } else {
    parts.push_back({"activations", "activations", held + s.waiting});
    parts.push_back({"logits", "logits", logits});
    parts.push_back({"buffers", "communication buffers", communication});
    // Lazy gradients may not be there at the peak: what is allocated decides.
    parts.push_back({"working", "in use by the pass",
                     s.memory.allocated - states - communication - held - s.waiting - logits});
    if (parts.back().bytes < Bytes(0)) {
      parts[1].bytes += parts.back().bytes - s.working;
      parts.back().bytes = s.working;
    }
  }
  parts.push_back({"allocator", "allocator", s.memory.reserved - s.memory.allocated});
  const Bytes paged = s.states.paged - s.paged_out;
  parts.push_back({"context", "context and NCCL", s.memory.total - s.memory.reserved - paged});
  if (s.states.paged > Bytes(0)) parts.push_back({"paged", "paged states", paged});
  return parts;
}

std::string_view peak_words(const StagePrediction& stage) {
  if (stage.peak_in_step) return "in the optimizer's step";
  if (stage.moment.at_end)
    return stage.moment.pass == PassKind::kInput ? "after a backward to inputs" : "at the end of a backward";
  switch (stage.moment.pass) {
    case PassKind::kForward:
      return "in a forward";
    case PassKind::kInput:
      return "in a backward to inputs";
    case PassKind::kWeight:
      return "in a backward to weights";
    default:
      return "in a backward";
  }
}

std::string memory_text(const Prediction& p) {
  std::vector<std::vector<std::string>> rows;
  for (const StagePrediction& stage : p.stages)
    rows.push_back({human_count(static_cast<double>(stage.parameters)), fmt::format("{}", stage.in_flight),
                    gibs(stage.states.weights), gibs(stage.states.gradients), gibs(stage.states.optimizer),
                    gibs(stage.states.buffers), gibs(stage.activations), gibs(stage.memory.allocated),
                    gibs(stage.memory.reserved), gibs(stage.memory.total)});
  std::string out =
      "\nmemory of a GPU by stage (GiB; allocated and reserved as torch counts, total as nvidia-smi does)\n" +
      stage_table({"parameters", "in flight", "weights", "gradients", "optimizer", "buffers", "activations",
                   "allocated", "reserved", "total"},
                  rows);
  const StagePrediction& worst = p.stages[static_cast<std::size_t>(p.worst_stage)];
  if (worst.states.host > Bytes(0))
    out += fmt::format("in the host's memory {} of states for each GPU\n", human_bytes(worst.states.host));
  if (worst.states.paged > Bytes(0))
    out += fmt::format("in unified memory {} of states, {} of it in the host's\n",
                       human_bytes(worst.states.paged), human_bytes(worst.paged_out));
  const std::string where = p.stages.size() > 1 ? fmt::format(" of stage {}", p.worst_stage + 1) : "";
  if (worst.peak_in_step) return out + fmt::format("the peak{} is in the optimizer's step\n", where);
  return out + fmt::format("activations{} at the peak, {} (GiB)\n", where, peak_words(worst)) +
         wrapped(told(activation_parts(worst)), "  ");
}

// What follows from the other keys is not told.
std::string changes(const Plan& from, const Plan& to) {
  Plan before = from;
  before.dp = to.dp;
  if (from.dp != to.dp) before.shard = to.shard;
  before.layers_per_stage = to.layers_per_stage;
  if (from.recompute != to.recompute) before.recompute_layers = to.recompute_layers;
  return to_text(to, before);
}

std::string_view training_change(const Plan& from, const Plan& to) {
  if (from.lora == 0 && to.lora > 0) return "trains adapters alone";
  if (from.base != to.base) return "quantises frozen weights";
  if (from.optimizer != to.optimizer) return "keeps states in eight bits";
  if (from.offload_optimizer != to.offload_optimizer) return "updates on the CPU";
  return "";
}

std::string would_fit_text(const Run& run, const Prediction& p) {
  if (p.fits) return "";
  if (p.would_fit.empty())
    return "\nno change of up to three of tp, sp, pp, cp, ep, zero, micro_batch, recompute, loss, mlp_chunks "
           "and offload makes it fit, nor with 8-bit or offloaded states, LoRA or QLoRA\n";
  std::string out = "\nwhat would fit (the nearest plans, the fastest of equals first)\n";
  std::vector<std::array<std::string, 4>> rows = {{"change", "step", "needs", ""}};
  for (const FittingPlan& plan : p.would_fit) {
    std::string words = sure(plan.fit_probability);
    if (const auto other = training_change(run.plan, plan.plan); !other.empty())
      words += fmt::format("; {}", other);
    rows.push_back({changes(run.plan, plan.plan), human_seconds(plan.score.step),
                    human_bytes(plan.score.needed), std::move(words)});
  }
  std::array<std::size_t, 4> widths{};
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  for (const auto& row : rows) {
    std::string line = fmt::format("  {:<{}}  {:>{}}  {:>{}}  {}", row[0], widths[0], row[1], widths[1],
                                   row[2], widths[2], row[3]);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string memory_track_svg(const StepView& view, const Prediction& p, std::int64_t rank) {
  constexpr double kWidth = 1280, kHeight = 180, kLeft = 74, kRight = 20, kTop = 10, kBottom = 24;
  constexpr double kMostPoints = 4000;
  const std::vector<MemoryPoint> track = memory_track(view.trace, rank);
  const MemoryPoint peak = peak_of(track);
  const Bytes most = std::max(p.usable, peak.allocated);
  const Seconds step = view.trace.step;
  const auto x = [&](Seconds t) {
    return kLeft + (kWidth - kLeft - kRight) * (step.value > 0 ? t / step : 0);
  };
  const auto y = [&](Bytes b) { return kHeight - kBottom - (kHeight - kTop - kBottom) * (b / most); };
  // Of many points in one place of the picture the highest counts.
  std::string path = fmt::format("M{:.1f} {:.1f}", x(Seconds(0)), y(track.front().allocated));
  const auto each = static_cast<std::size_t>(std::max(1.0, static_cast<double>(track.size()) / kMostPoints));
  for (std::size_t i = 1; i < track.size(); i += each) {
    Bytes highest = track[i].allocated;
    for (std::size_t k = i; k < std::min(i + each, track.size()); ++k)
      highest = std::max(highest, track[k].allocated);
    path += fmt::format("H{:.1f}V{:.1f}", x(track[i].at), y(highest));
  }
  path += fmt::format("H{:.1f}", x(step));
  const std::string cause = peak.event < 0 ? "the start" : label(view.event(peak.event));
  return fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\"><title>allocated memory of "
      "stage {2} "
      "over the step; the most, {3}, in {4}</title><path class=\"limit\" d=\"M{5} {6:.1f}H{7}\"/><path "
      "class=\"track\" d=\"{8}\"/><text text-anchor=\"end\" x=\"{9}\" y=\"{6:.1f}\">{10}</text><text "
      "text-anchor=\"end\" x=\"{9}\" y=\"{11:.1f}\">0</text></svg>\n",
      kWidth, kHeight, rank + 1, human_bytes(peak.allocated), cause, kLeft, y(p.usable), kWidth - kRight,
      path, kLeft - 6, human_bytes(p.usable), y(Bytes(0)));
}

}  // namespace foretrain
