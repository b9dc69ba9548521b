#include "validate/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace foretrain {
namespace {

// What is worth telling. Steps of a healthy run on GPUs of its own vary by one or two percent (docs/diagnose.md).
constexpr double kLeastShare = 0.02;  // of the measured time
constexpr double kMuchSpread = 0.05;  // relative deviation of steady steps
constexpr double kFullMemory =
    0.95;  // of what a GPU has for a run: its allocator begins to free and to ask again
constexpr double kOtherMemory = 0.1;    // measured against predicted
constexpr double kLeastOfTrace = 0.03;  // of the step, by which a figure of a trace is above its prediction
constexpr double kSlowKernels = 1.15;   // and over it

double percent(double share) { return 100 * share; }

class Findings {
 public:
  Findings(const Diagnosis& diagnosis, const Run& run, const Prediction& prediction)
      : d_(diagnosis), m_(diagnosis.measured), run_(run), p_(prediction) {}

  std::vector<Finding> take(const NotModelled& not_modelled) {
    add_unsteady();
    add_memory();
    add_description(not_modelled);
    add_trace();
    if (d_.verdict == SpeedVerdict::kSlower && found_.empty()) add_unseen();
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Finding& a, const Finding& b) { return a.share > b.share; });
    return std::move(found_);
  }

 private:
  void add(std::string_view kind, double share, std::string words, std::string_view advice) {
    found_.push_back({kind, share, std::move(words), std::string(advice)});
  }

  void add_unsteady() {
    const double stalled = 1 - 1 / std::max(1.0, m_.with_stalls);
    if (stalled > kLeastShare)
      add("stalls", stalled,
          fmt::format(
              "{} of {} lines after the warm-up take over a fifth longer than the others: the mean step is "
              "{}, {:.0f} % above the steady one",
              m_.stalls, m_.lines + m_.stalls, human_seconds(m_.step * m_.with_stalls),
              percent(m_.with_stalls - 1)),
          "data loading (more workers, local files), a slow node or link, garbage collection, shared "
          "storage");
    const double paused = (m_.with_pauses - m_.with_stalls) / std::max(1.0, m_.with_pauses);
    if (paused > kLeastShare) {
      std::vector<std::string> names;
      for (const auto& [name, count] : m_.pauses) names.push_back(fmt::format("{} {}", count, name));
      add("pauses", paused,
          fmt::format("pauses ({}) take {:.0f} % of the run; the steady step is without them",
                      join(names, ", "), percent(paused)),
          "less often, or in the background: asynchronous checkpoints, fewer evaluation steps");
    }
    if (m_.spread > kMuchSpread)
      add("spread", 0,
          fmt::format("steady steps vary by {:.1f} %, where a healthy run varies by one or two",
                      percent(m_.spread)),
          "unequal work a step (sequence lengths, routing), other jobs on the network, clocks that change");
    if (m_.is_warming)
      add("warm_up", 0, "half of the lines went by before steps were steady: the warm-up may not be over",
          "run longer before it is judged; compilation again and again (changing shapes), a growing batch, "
          "cold caches");
    else if (m_.drift < -kMuchDrift)
      add("warm_up", 0,
          fmt::format("steps still get shorter: the last third takes {:.1f} % less than the first",
                      percent(-m_.drift)),
          "run longer before it is judged; caches that fill, autotuning, a ramp of the batch");
    if (m_.drift > kMuchDrift)
      add("slowing", m_.drift / 2,
          fmt::format("steps get longer: the last third takes {:.1f} % more than the first",
                      percent(m_.drift)),
          "GPUs that heat up (clocks), memory that fragments, longer sequences, a leak on the host");
  }

  void add_memory() {
    if (m_.memory <= Bytes(0)) return;
    // What is not torch's comes on top of its counters.
    const Bytes measured = m_.memory + (p_.stages[static_cast<std::size_t>(p_.worst_stage)].memory.total -
                                        std::min(d_.expected_memory, p_.peak));
    const Bytes usable = run_.cluster.gpu.usable;
    if (measured > usable * kFullMemory)
      add("memory_full", 0,
          fmt::format("memory is nearly full: {} ({}) with what lies outside torch is {:.0f} % of the {} "
                      "usable; near "
                      "the limit the allocator frees and asks again, and stalls",
                      human_bytes(m_.memory), printable(m_.memory_counter), percent(measured / usable),
                      human_bytes(usable)),
          "look for allocation retries; expandable_segments, a smaller micro-batch, more recomputation or "
          "sharding");
    const double ratio = m_.memory / d_.expected_memory;
    if (d_.expected_memory > Bytes(0) && std::abs(ratio - 1) > kOtherMemory)
      add(ratio > 1 ? "memory_more" : "memory_less", 0,
          fmt::format("memory is {} ({}), predicted {}: {:.0f} % {}", human_bytes(m_.memory),
                      printable(m_.memory_counter), human_bytes(d_.expected_memory),
                      percent(std::abs(ratio - 1)), ratio > 1 ? "more" : "less"),
          ratio > 1
              ? "what is described may differ: less recomputation or sharding, a larger micro-batch, other "
                "formats, a second model"
              : "what is described may differ: more recomputation or sharding, a smaller micro-batch, states "
                "elsewhere");
  }

  void add_description(const NotModelled& not_modelled) {
    if (m_.global_batch > 0 && std::abs(m_.global_batch - static_cast<double>(run_.global_batch)) > 0.5)
      add("batch_differs", 0,
          fmt::format("the log tells of {:.0f} sequences a step, the run states {}", m_.global_batch,
                      run_.global_batch),
          "describe the run that was measured");
    if (m_.ranks > 0 && m_.ranks != run_.gpus)
      add("ranks_differ", 0,
          fmt::format("the trace is of {} ranks, the run states {} GPUs", m_.ranks, run_.gpus),
          "describe the run that was measured");
    if (!p_.fits)
      add("does_not_fit", 0,
          fmt::format("what is described needs {} of {} usable: it would not have run",
                      human_bytes(p_.needed), human_bytes(p_.usable)),
          "describe the run that was measured");
    for (const auto& [flag, changes] : not_modelled)
      if (changes.find("time") != std::string::npos)
        add("not_modelled", 0, fmt::format("{} changes time and is not modelled", printable(flag)),
            flag.ends_with(" turned off") ? "turn it on and measure again"
                                          : "turn it off and measure again, where it is not needed");
  }

  void add_trace() {
    if (!m_.profiled) return;
    const ProfiledStep& seen = *m_.profiled;
    const double step = m_.step.value;
    const double outside = step - (seen.busy + seen.idle).value;
    if (outside > kLeastOfTrace * step)
      add("between_steps", outside / step,
          fmt::format("{} of a step pass before its first kernel or after its last",
                      human_seconds(Seconds(outside))),
          "the host between steps: data loading, logging, the profiler itself");
    const auto of = [&](KernelFamily family) { return seen.families[static_cast<std::size_t>(family)]; };
    if (of(KernelFamily::kOptimizer) == Seconds(0) && of(KernelFamily::kLoss) == Seconds(0))
      add("no_training", 0,
          "no kernel of a loss or of an optimizer is in the trace: it may be no whole training step",
          "profile from one optimizer step to the next");
    for (const Beside& row : d_.beside) {
      const double more = (row.measured - row.predicted).value;
      if (more < kLeastOfTrace * step || row.measured < row.predicted * kSlowKernels) continue;
      if (row.name == "GPU busy") continue;
      const std::string figures =
          fmt::format("{} where {} are predicted", human_seconds(row.measured), human_seconds(row.predicted));
      if (row.name == "idle, in gaps")
        add("gaps", more / step,
            fmt::format("the GPU idles {}, in {} gaps (the longest {})", figures, seen.gaps,
                        human_seconds(seen.longest_gap)),
            "a host that launches too slowly or waits for the GPU (.item(), prints, copies): CUDA graphs, "
            "fused or "
            "compiled kernels, larger micro-batches; profiling itself slows the host");
      else if (row.name == "exposed communication")
        add("exchange", more / step, "exchanges that nothing hides take " + figures,
            "overlap flags, the fabric (nccl-tests on these nodes), ranks that come late");
      else
        add("kernels", more / step, fmt::format("{}: kernels take {}", row.name, figures),
            "which kernels ran (import kineto tells them by operator), clocks and power of the GPU");
    }
  }

  void add_unseen() {
    add("unseen", 0,
        m_.profiled ? "no figure of the trace stands out: everything is slower by about as much"
                    : "nothing in the log itself explains it",
        m_.profiled ? "clocks and power (nvidia-smi -q -d CLOCK,PERFORMANCE), another GPU than described"
                    : "profile a step and hand the trace over; look at clocks (nvidia-smi -q -d "
                      "CLOCK,PERFORMANCE), at "
                      "the fabric (nccl-tests), and at whether every flag took effect");
  }

  const Diagnosis& d_;
  const MeasuredRun& m_;
  const Run& run_;
  const Prediction& p_;
  std::vector<Finding> found_;
};

}  // namespace

std::vector<Finding> findings_of(const Diagnosis& diagnosis, const Run& run, const Prediction& prediction,
                                 const NotModelled& not_modelled) {
  return Findings(diagnosis, run, prediction).take(not_modelled);
}

}  // namespace foretrain
