#include "samples/kineto_trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "samples/collective_sample.h"
#include "samples/kineto_samples.h"

namespace foretrain {
namespace {

constexpr std::string_view kWorkNames[] = {"kernel", "collective", "copy", "set"};

bool is_kernel(GpuWork work) { return work == GpuWork::kKernel || work == GpuWork::kCollective; }

struct Interval {
  double start = 0, end = 0;
};

// Time covered by intervals in order of start; where `step` is given, gaps are counted into it.
double covered(const std::vector<Interval>& intervals, StepWork* step) {
  double total = 0, end = 0;
  bool is_first = true;
  for (const Interval& one : intervals) {
    if (is_first || one.start > end) {
      if (!is_first && step != nullptr) {
        ++step->gaps;
        step->longest_gap_us = std::max(step->longest_gap_us, one.start - end);
      }
      total += one.end - one.start;
      end = one.end;
    } else if (one.end > end) {
      total += one.end - end;
      end = one.end;
    }
    is_first = false;
  }
  return total;
}

// A cell of our tables, which hold no commas and no quotes.
std::string cell(std::string_view text) {
  std::string plain = printable(text.substr(0, 300));
  for (char& c : plain) {
    if (c == ',') c = ';';
    if (c == '"') c = '\'';
  }
  return plain;
}

class Analysis {
 public:
  Analysis(KinetoEvents events, const std::string& file)
      : events_(std::move(events)), owners_(events_), file_(file) {
    std::sort(events_.gpu.begin(), events_.gpu.end(),
              [](const GpuEvent& a, const GpuEvent& b) { return a.start_us < b.start_us; });
  }

  KinetoTrace trace() {
    KinetoTrace trace;
    trace.file = file_;
    trace.device = events_.device, trace.backend = events_.backend;
    trace.rank = events_.rank, trace.world = events_.world;
    trace.events = events_.events;
    trace.cpu_operators = events_.operators.size(), trace.with_inputs = events_.with_inputs;
    assign_steps();
    add_streams(trace);
    add_steps(trace);
    add_names(trace);
    KinetoSamples samples = kineto_samples(events_, owners_, source_label(file_name(file_)));
    trace.samples = std::move(samples.samples);
    trace.sampled_kernels = samples.kernels;
    trace.left_out = std::move(samples.left_out);
    trace.timeline_csv = timeline();
    return trace;
  }

 private:
  // A step's kernels are those that its host launched; where the launch is not there, those that start in it.
  void assign_steps() {
    step_of_.resize(events_.gpu.size(), -1);
    for (std::size_t i = 0; i < events_.gpu.size(); ++i) {
      if (events_.steps.empty()) {
        step_of_[i] = 0;
        continue;
      }
      const double us = owners_.launched_us(events_.gpu[i]).value_or(events_.gpu[i].start_us);
      const auto next =
          std::upper_bound(events_.steps.begin(), events_.steps.end(), us,
                           [](double time, const StepEvent& step) { return time < step.start_us; });
      if (next == events_.steps.begin()) continue;
      const StepEvent& step = *(next - 1);
      if (us <= step.start_us + step.us) step_of_[i] = static_cast<int>(next - 1 - events_.steps.begin());
    }
  }

  void add_streams(KinetoTrace& trace) const {
    std::map<std::pair<std::int64_t, std::int64_t>, StreamWork> streams;
    for (const GpuEvent& event : events_.gpu) {
      StreamWork& stream = streams[{event.device, event.stream}];
      if (is_kernel(event.work)) {
        ++stream.kernels, ++trace.kernels;
        stream.us += event.us, trace.kernel_us += event.us;
      } else {
        ++stream.copies, ++trace.copies;
        stream.copy_us += event.us, trace.copy_us += event.us;
      }
      if (event.work != GpuWork::kCollective) continue;
      ++stream.collectives, ++trace.collectives;
      stream.collective_us += event.us, trace.collective_us += event.us;
    }
    for (auto& [key, stream] : streams) {
      stream.device = key.first, stream.stream = key.second;
      trace.streams.push_back(stream);
    }
  }

  void add_steps(KinetoTrace& trace) const {
    const std::size_t count = std::max<std::size_t>(1, events_.steps.size());
    std::vector<std::vector<Interval>> all(count), computing(count);
    std::vector<StepWork> steps(count);
    for (std::size_t i = 0; i < events_.gpu.size(); ++i) {
      if (step_of_[i] < 0) continue;
      const auto step = static_cast<std::size_t>(step_of_[i]);
      const GpuEvent& event = events_.gpu[i];
      all[step].push_back({event.start_us, event.start_us + event.us});
      if (event.work != GpuWork::kCollective) computing[step].push_back(all[step].back());
      steps[step].kernels += is_kernel(event.work);
      steps[step].family_us[static_cast<std::size_t>(family_of(event))] += event.us;
    }
    for (std::size_t i = 0; i < count; ++i) {
      StepWork& step = steps[i];
      if (!events_.steps.empty()) step.name = events_.steps[i].name, step.host_us = events_.steps[i].us;
      double last = 0;
      for (const Interval& one : all[i]) last = std::max(last, one.end);
      if (!all[i].empty()) step.gpu_us = last - all[i].front().start;
      step.busy_us = covered(all[i], &step);
      step.exposed_us = step.busy_us - covered(computing[i], nullptr);
      trace.steps.push_back(std::move(step));
    }
  }

  void add_names(KinetoTrace& trace) const {
    std::map<std::string, NamedWork> operators, collectives;
    for (const GpuEvent& event : events_.gpu) {
      if (!is_kernel(event.work)) continue;
      const auto add = [&](std::map<std::string, NamedWork>& to, const std::string& name) {
        NamedWork& work = to[name];
        work.name = name;
        ++work.kernels, work.us += event.us;
      };
      add(operators, operator_name(event));
      if (event.work == GpuWork::kCollective)
        add(collectives, events_.names[static_cast<std::size_t>(event.name)]);
    }
    const auto sorted = [](std::map<std::string, NamedWork>& from) {
      std::vector<NamedWork> list;
      for (auto& [name, work] : from) list.push_back(std::move(work));
      std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.us > b.us; });
      return list;
    };
    trace.operators = sorted(operators);
    trace.collective_kernels = sorted(collectives);
  }

  std::string operator_name(const GpuEvent& event) const {
    const std::int32_t op = owners_.owner(event);
    if (op < 0) return "(unknown)";
    return events_.names[static_cast<std::size_t>(events_.operators[static_cast<std::size_t>(op)].name)];
  }

  KernelFamily family_of(const GpuEvent& event) const {
    if (event.work == GpuWork::kCollective) return KernelFamily::kExchange;
    if (!is_kernel(event.work)) return KernelFamily::kElementwise;  // copies and fills
    const std::int32_t op = owners_.owner(event);
    return kernel_family(
        events_.names[static_cast<std::size_t>(event.name)],
        op < 0
            ? std::string_view()
            : events_.names[static_cast<std::size_t>(events_.operators[static_cast<std::size_t>(op)].name)]);
  }

  std::string timeline() const {
    std::string csv = "step,device,stream,start_us,us,work,operator,name\n";
    const double start = events_.gpu.empty() ? 0 : events_.gpu.front().start_us;
    for (std::size_t i = 0; i < events_.gpu.size(); ++i) {
      const GpuEvent& event = events_.gpu[i];
      const std::string step = step_of_[i] < 0 || events_.steps.empty()
                                   ? ""
                                   : cell(events_.steps[static_cast<std::size_t>(step_of_[i])].name);
      csv +=
          fmt::format("{},{},{},{:.3f},{:.3f},{},{},{}\n", step, event.device, event.stream,
                      event.start_us - start, event.us, kWorkNames[static_cast<int>(event.work)],
                      cell(operator_name(event)), cell(events_.names[static_cast<std::size_t>(event.name)]));
    }
    return csv;
  }

  KinetoEvents events_;
  KinetoOwners owners_;
  const std::string& file_;
  std::vector<int> step_of_;  // of each of events_.gpu; -1: of none
};

}  // namespace

Result<KinetoTrace> read_kineto(std::string_view bytes, const std::string& file_name) {
  TRY_ASSIGN(KinetoEvents events, parse_kineto(bytes, file_name));
  const bool has_kernel = std::any_of(events.gpu.begin(), events.gpu.end(),
                                      [](const GpuEvent& event) { return is_kernel(event.work); });
  if (!has_kernel)
    return fail(fmt::format("found {} events and no kernel of a GPU, expected a trace taken with "
                            "ProfilerActivity.CUDA",
                            with_commas(static_cast<std::int64_t>(events.events))),
                Position{file_name, 1, 1});
  return Analysis(std::move(events), file_name).trace();
}

}  // namespace foretrain
