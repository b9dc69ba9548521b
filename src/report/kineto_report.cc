#include "report/kineto_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "samples/steady_steps.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostNames = 8;

std::string count(std::size_t n) { return with_commas(static_cast<std::int64_t>(n)); }
std::string time(double us) { return human_seconds(microseconds(us)); }

template <class Figure>
double median_of(const std::vector<StepWork>& steps, Figure figure) {
  std::vector<double> values;
  for (const StepWork& step : steps)
    if (step.kernels > 0) values.push_back(figure(step));
  return median(std::move(values));
}

std::string steps_text(const std::vector<StepWork>& steps) {
  const bool is_whole = steps.size() == 1 && steps[0].name.empty();
  std::string text = is_whole ? "none named; the trace: " : fmt::format("{}: ", steps.size());
  const double host = median_of(steps, [](const StepWork& s) { return s.host_us; });
  if (host > 0) text += "host " + time(host) + ", ";
  text += fmt::format("GPU {}: busy {}, exposed collectives {}, idle {} in {:.0f} gaps",
                      time(median_of(steps, [](const StepWork& s) { return s.gpu_us; })),
                      time(median_of(steps, [](const StepWork& s) { return s.busy_us; })),
                      time(median_of(steps, [](const StepWork& s) { return s.exposed_us; })),
                      time(median_of(steps, [](const StepWork& s) { return s.idle_us(); })),
                      median_of(steps, [](const StepWork& s) { return static_cast<double>(s.gaps); }));
  return text + (steps.size() > 1 ? " (medians)" : "");
}

void write_named(JsonWriter& writer, std::string_view key, const std::vector<NamedWork>& list) {
  writer.key(key).begin_array();
  for (const NamedWork& work : list) {
    writer.begin_object().key("name").value(work.name).key("kernels").value(work.kernels);
    writer.key("us").value(work.us).end_object();
  }
  writer.end_array();
}

void write_streams(JsonWriter& writer, const std::vector<StreamWork>& streams) {
  writer.key("streams").begin_array();
  for (const StreamWork& stream : streams) {
    writer.begin_object().key("device").value(stream.device).key("stream").value(stream.stream);
    writer.key("kernels").value(stream.kernels).key("us").value(stream.us);
    writer.key("collectives").value(stream.collectives).key("collective_us").value(stream.collective_us);
    writer.key("copies").value(stream.copies).key("copy_us").value(stream.copy_us).end_object();
  }
  writer.end_array();
}

void write_steps(JsonWriter& writer, const std::vector<StepWork>& steps) {
  writer.key("steps").begin_array();
  for (const StepWork& step : steps) {
    if (step.name.empty()) continue;
    writer.begin_object().key("name").value(step.name).key("host_us").value(step.host_us);
    writer.key("kernels")
        .value(step.kernels)
        .key("gpu_us")
        .value(step.gpu_us)
        .key("busy_us")
        .value(step.busy_us);
    writer.key("exposed_us").value(step.exposed_us).key("idle_us").value(step.idle_us());
    writer.key("gaps").value(step.gaps).key("longest_gap_us").value(step.longest_gap_us).end_object();
  }
  writer.end_array();
}

void write_known(JsonWriter& writer, std::string_view key, std::int64_t value) {
  writer.key(key);
  if (value >= 0)
    writer.value(value);
  else
    writer.null();
}

void write_trace(JsonWriter& writer, const KinetoTrace& trace) {
  writer.begin_answer().key("file").value(trace.file).key("format").value("kineto");
  writer.key("device");
  if (trace.device.empty())
    writer.null();
  else
    writer.value(trace.device);
  write_known(writer, "rank", trace.rank);
  write_known(writer, "world_size", trace.world);
  writer.key("events").value(trace.events).key("cpu_ops").value(trace.cpu_operators);
  writer.key("input_dims").value(trace.with_inputs);
  writer.key("kernels").value(trace.kernels).key("kernel_us").value(trace.kernel_us);
  writer.key("collective_kernels").value(trace.collectives).key("collective_us").value(trace.collective_us);
  writer.key("copies").value(trace.copies).key("copy_us").value(trace.copy_us);
  write_streams(writer, trace.streams);
  write_steps(writer, trace.steps);
  write_named(writer, "operators", trace.operators);
  write_named(writer, "collectives", trace.collective_kernels);
  writer.key("samples").value(trace.samples.size()).key("sampled_kernels").value(trace.sampled_kernels);
  writer.key("left_out").begin_object();
  for (const auto& [reason, kernels] : trace.left_out) writer.key(reason).value(kernels);
  writer.end_object().end_object();
}

}  // namespace

std::string kineto_text(const KinetoTrace& trace) {
  std::string text = printable(trace.file) + ": ";
  if (!trace.device.empty()) text += printable(trace.device) + ", ";
  if (trace.rank >= 0) text += fmt::format("rank {}", trace.rank);
  if (trace.rank >= 0 && trace.world >= 0) text += fmt::format(" of {}", trace.world);
  if (trace.rank >= 0) text += ", ";
  text += count(trace.events) + " events\n";
  text += fmt::format("  kernels    {} in {}", count(trace.kernels), time(trace.kernel_us));
  if (trace.collectives > 0)
    text +=
        fmt::format("; collectives among them {} in {}", count(trace.collectives), time(trace.collective_us));
  if (trace.copies > 0) text += fmt::format("; copies {} in {}", count(trace.copies), time(trace.copy_us));
  text += '\n';
  for (const StreamWork& stream : trace.streams)
    if (stream.kernels > 0)
      text += fmt::format(
          "  stream {:<3} {} kernels in {}{}{}\n", stream.stream, count(stream.kernels), time(stream.us),
          trace.streams.front().device == trace.streams.back().device
              ? ""
              : fmt::format(" on device {}", stream.device),
          stream.collectives > 0 ? fmt::format(", {} collectives", count(stream.collectives)) : "");
  text += "  steps      " + steps_text(trace.steps) + "\n  operators  ";
  for (std::size_t i = 0; i < std::min(kMostNames, trace.operators.size()); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", printable(trace.operators[i].name),
                        time(trace.operators[i].us));
  if (trace.operators.size() > kMostNames)
    text += fmt::format(", {} others", count(trace.operators.size() - kMostNames));
  text += fmt::format("\n  samples    {} of {} kernels", count(trace.samples.size()),
                      count(trace.sampled_kernels));
  if (trace.with_inputs == 0) text += " (sizes are not recorded: record_shapes=True)";
  text += '\n';
  for (const auto& [reason, kernels] : trace.left_out)
    text += fmt::format("  left out   {} kernels: {}\n", count(kernels), reason);
  return text;
}

std::string kineto_json(const std::vector<KinetoTrace>& traces) {
  JsonWriter writer;
  if (traces.size() != 1) writer.begin_array();
  for (const KinetoTrace& trace : traces) write_trace(writer, trace);
  if (traces.size() != 1) writer.end_array();
  return writer.text();
}

}  // namespace foretrain
