#include "report/log_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/text.h"

namespace foretrain {
namespace {

// Arguments that most readers look for, in the words of those who print them.
constexpr std::string_view kTelling[] = {"num_layers",
                                         "hidden_size",
                                         "num_attention_heads",
                                         "seq_length",
                                         "micro_batch_size",
                                         "global_batch_size",
                                         "tensor_model_parallel_size",
                                         "pipeline_model_parallel_size",
                                         "expert_model_parallel_size",
                                         "context_parallel_size",
                                         "world_size",
                                         "gradient_accumulation_steps"};

std::string left_out(const SteadySteps& steady) {
  std::vector<std::string> parts;
  const auto add = [&](std::size_t count, std::string_view what) {
    if (count > 0) parts.push_back(fmt::format("{} {}", with_commas(static_cast<std::int64_t>(count)), what));
  };
  add(steady.ramp, "of smaller batches");
  add(steady.warmup, "of the warm-up");
  for (const auto& [pause, count] : steady.pauses) add(count, "with a pause: " + pause);
  add(steady.outliers, "outliers");
  return join(parts, ", ");
}

// Of a run that has no steady step, since it gets slower (or faster) all the time.
std::string drift_words(const SteadySteps& steady) {
  if (std::abs(steady.drift) <= kMuchDrift) return {};
  return fmt::format("  drift    steps get {}: the last third takes {:.0f} % {} than the first\n",
                     steady.drift > 0 ? "longer" : "shorter", 100 * std::abs(steady.drift),
                     steady.drift > 0 ? "more" : "less");
}

std::string run_words(const StatedPairs& run) {
  std::string words;
  for (const auto& [key, value] : run)
    if (std::find(std::begin(kTelling), std::end(kTelling), key) != std::end(kTelling))
      words += fmt::format("{}{} {}", words.empty() ? ": " : ", ", printable(key), printable(value));
  return words;
}

void write_number(JsonWriter& writer, std::string_view key, double value) {
  writer.key(key);
  if (value > 0)
    writer.value(value);
  else
    writer.null();
}

void write_count(JsonWriter& writer, std::string_view key, std::int64_t value) {
  writer.key(key);
  if (value > 0)
    writer.value(value);
  else
    writer.null();
}

void write_log(JsonWriter& writer, const TrainingLog& log) {
  const SteadySteps& steady = log.steady;
  writer.begin_answer();
  writer.key("file").value(log.file).key("format").value(log.format);
  writer.key("steps").value(log.steps).key("lines").value(log.lines).key("runs").value(log.runs);
  write_count(writer, "first_step", log.first_step);
  write_count(writer, "last_step", log.last_step);
  write_count(writer, "total_steps", log.total_steps);
  write_number(writer, "step_s", steady.seconds);
  writer.key("spread").value(steady.spread).key("drift").value(steady.drift);
  write_number(writer, "tokens_per_s_per_gpu", steady.tokens);
  write_number(writer, "samples_per_s", steady.samples);
  write_number(writer, "global_batch", log.global_batch);
  write_number(writer, "memory_gib", log.memory_gib);
  writer.key("memory_counter");
  if (log.memory_counter.empty())
    writer.null();
  else
    writer.value(log.memory_counter);
  writer.key("steady_lines").value(steady.used).key("left_out").begin_object();
  writer.key("ramp").value(steady.ramp).key("warmup").value(steady.warmup);
  writer.key("outliers").value(steady.outliers);
  for (const auto& [pause, count] : steady.pauses) writer.key(pause).value(count);
  writer.end_object();
  writer.key("run").begin_object();
  for (const auto& [key, value] : log.run) writer.key(key).value(value);
  writer.end_object().end_object();
}

}  // namespace

std::string log_text(const TrainingLog& log) {
  std::string text = fmt::format("{}: {}, {} steps told", printable(log.file), log.format,
                                 with_commas(static_cast<std::int64_t>(log.steps)));
  if (log.lines != log.steps)
    text += fmt::format(" by {} lines", with_commas(static_cast<std::int64_t>(log.lines)));
  if (log.last_step > 0) text += fmt::format(", {} to {}", log.first_step, log.last_step);
  if (log.total_steps > 0) text += fmt::format(" of {}", log.total_steps);
  if (log.runs > 1) text += fmt::format(" in the longest of {} runs", log.runs);
  const SteadySteps& steady = log.steady;
  text += "\n  steady   ";
  std::vector<std::string> figures;
  if (steady.seconds > 0) figures.push_back(human_seconds(Seconds(steady.seconds)) + " a step");
  if (steady.tokens > 0) figures.push_back(fmt::format("{:.5g} tokens a second and GPU", steady.tokens));
  if (steady.samples > 0) figures.push_back(fmt::format("{:.5g} samples a second", steady.samples));
  text += join(figures, ", ");
  if (steady.used > 0)
    text += fmt::format(" ({} lines, spread {:.1f} %)", with_commas(static_cast<std::int64_t>(steady.used)),
                        100 * steady.spread);
  text += '\n';
  if (const std::string out = left_out(steady); !out.empty()) text += "  left out " + out + "\n";
  text += drift_words(steady);
  if (log.ranks > 1)
    text += fmt::format("  ranks    {} logs of one run, steady {} to {} (slowest: {})\n", log.ranks,
                        human_seconds(Seconds(log.fastest)), human_seconds(Seconds(log.slowest)),
                        printable(log.slowest_file));
  if (log.global_batch > 0) text += fmt::format("  batch    {:.0f} samples\n", log.global_batch);
  if (log.memory_gib > 0)
    text += fmt::format("  memory   {:.1f} GiB ({})\n", log.memory_gib, log.memory_counter);
  if (!log.run.empty())
    text += fmt::format("  run      {} arguments{}\n", log.run.size(), run_words(log.run));
  return text;
}

std::string log_json(const std::vector<TrainingLog>& logs) {
  JsonWriter writer;
  if (logs.size() != 1) writer.begin_array();
  for (const TrainingLog& log : logs) write_log(writer, log);
  if (logs.size() != 1) writer.end_array();
  return writer.text();
}

}  // namespace foretrain
