#include "ask/measured_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "ask/device_hint.h"
#include "base/field_mark.h"
#include "base/gzip.h"
#include "base/text.h"
#include "formats/map_writer.h"
#include "samples/kineto_trace.h"
#include "samples/rank_logs.h"
#include "samples/training_log.h"

namespace foretrain {
namespace {

using Measurement = std::variant<TrainingLog, KinetoTrace>;

// A trace is JSON with events; whatever else a file is, it is read as a log.
bool is_trace(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (text[first] != '{' && text[first] != '[')) return false;
  return text.find("\"traceEvents\"") != std::string_view::npos ||
         (text[first] == '[' && text.find("\"ph\"") != std::string_view::npos);
}

Result<Measurement> read_measurement(const Source& source) {
  if (is_trace(source.text)) {
    TRY_ASSIGN(KinetoTrace trace, read_kineto(source.text, source.name));
    return Measurement(std::move(trace));
  }
  TRY_ASSIGN(TrainingLog log, parse_training_log(source.text, source.name));
  return Measurement(std::move(log));
}

Result<Source> unpacked(const Source& source) {
  Source out = source;
  if (is_gzip(out.text)) {
    TRY_ASSIGN(out.text, gunzip(out.text, kMaxUnpackedBytes, out.name));
  }
  return out;
}

// With the logs of further ranks, where there are some.
Result<Measurement> read_all(const Source& first, const std::vector<Source>& ranks) {
  TRY_ASSIGN(Measurement measurement, read_measurement(first));
  if (ranks.empty()) return measurement;
  const auto* log = std::get_if<TrainingLog>(&measurement);
  if (log == nullptr)
    return fail(
        fmt::format("found a trace beside {} more files, expected one trace, or logs alone", ranks.size()),
        Position{first.name, 0, 0});
  std::vector<TrainingLog> logs = {*log};
  for (const Source& rank : ranks) {
    TRY_ASSIGN(const Source source, unpacked(rank));
    TRY_ASSIGN(TrainingLog other, parse_training_log(source.text, source.name));
    if (!is_same_run(logs.front(), other))
      return fail(fmt::format("found the log of another run, expected one of a further rank of {}'s",
                              printable(first.name)),
                  Position{source.name, 0, 0});
    logs.push_back(std::move(other));
  }
  return Measurement(joined_ranks(std::move(logs)));
}

// A figure that the measurement tells, where the run's file has none.
void fill(RunFile& file, std::string_view key, double count, std::string_view from) {
  if (count < 1 || file.node.find(key) != nullptr) return;
  MapWriter writer;
  file.node.entries.emplace_back(std::string(key), writer.scalar(fmt::format("{:.0f}", count)));
  file.node.key_at.push_back(file.node.at);
  if (!file.foreign) file.foreign.emplace();
  file.foreign->assumed.push_back(fmt::format("{}: {:.0f} ({})", key, count, from));
}

double stated(const TrainingLog& log, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (const auto found = log.run.find(key); found != log.run.end())
      if (const auto number = parse_number(found->second); number && *number >= 1 && *number < 1e12)
        return *number;
  return 0;
}

// The run's file: the one that is given, else the log where it prints its arguments, else nothing but words; and what the
// measurement tells besides.
Result<RunFile> read_run(const PredictRequest& run, const Source& measured, const Measurement& measurement,
                         const Catalog& catalog) {
  RunFile file;
  file.node.kind = Node::Kind::kMap;
  if (run.runs.size() > 1)
    return fail_field("run", fmt::format("found {} runs, expected one", run.runs.size()));
  if (!run.runs.empty()) {
    TRY_ASSIGN(file, read_run_file(run.runs.front(), catalog));
  } else if (states_its_run(measured.text)) {
    TRY_ASSIGN(file, read_run_file(measured, catalog));
  }
  if (const auto* log = std::get_if<TrainingLog>(&measurement)) {
    if (run.global_batch.empty() && (!file.foreign || !file.foreign->accumulation))
      fill(file, "global_batch", log->global_batch, "as the log tells it");
    if (run.seq.empty())
      fill(file, "seq", stated(*log, {"seq_length", "seq_len", "max_sequence_length"}),
           "as the log tells it");
    if (run.gpus.empty()) fill(file, "gpus", stated(*log, {"world_size"}), "as the log tells it");
  } else if (run.gpus.empty()) {
    fill(file, "gpus", static_cast<double>(std::get<KinetoTrace>(measurement).world),
         "as the trace tells it");
  }
  return file;
}

std::string told(const Measurement& measurement) {
  if (const auto* trace = std::get_if<KinetoTrace>(&measurement)) {
    const MeasuredRun run = measured_run(*trace);
    return fmt::format("a {} with a step of {}", printable(run.format), human_seconds(run.step));
  }
  const TrainingLog& log = std::get<TrainingLog>(measurement);
  const SteadySteps& steady = log.steady;
  if (steady.tokens > 0)
    return fmt::format("a {} log with {:.5g} tokens a second and GPU", log.format, steady.tokens);
  return fmt::format("a {} log with steps of {}", log.format, human_seconds(Seconds(steady.seconds)));
}

// All that is missing, at once, with what the measurement says of the GPU.
Result<void> check_complete(const PredictRequest& run, const RunFile& file, const Measurement& measurement,
                            const Source& measured, const Catalog& catalog) {
  const std::pair<std::string_view, const std::string*> needed[] = {
      {"model", &run.model}, {"cluster", &run.cluster}, {"gpus", &run.gpus}};
  std::vector<std::string> missing, options;
  for (const auto& [key, word] : needed)
    if (word->empty() && file.node.find(key) == nullptr) {
      missing.emplace_back(key);
      options.push_back(marked(key));
    }
  if (missing.empty()) return {};
  const auto* trace = std::get_if<KinetoTrace>(&measurement);
  const bool asks_cluster = std::find(missing.begin(), missing.end(), "cluster") != missing.end();
  const std::string hint =
      asks_cluster ? device_hint(catalog, trace != nullptr ? trace->device : measured.text) : "";
  return fail(fmt::format("found {}, but no {} to hold it against: give {}{}{}", told(measurement),
                          join(missing, ", "), join(options, ", "),
                          missing.size() > 1 || !asks_cluster
                              ? fmt::format(", or a file that states them by {}", marked("run"))
                              : "",
                          hint),
              Position{measured.name, 0, 0});
}

Result<MeasuredRun> measured_of(const Measurement& measurement, const Run& run) {
  if (const auto* log = std::get_if<TrainingLog>(&measurement)) return measured_run(*log, run);
  return measured_run(std::get<KinetoTrace>(measurement));
}

}  // namespace

Result<MeasuredFile> read_measured_file(Session& session, const PredictRequest& request, const Source& given,
                                        const std::vector<Source>& ranks) {
  TRY_ASSIGN(const Source measured, unpacked(given));
  TRY_ASSIGN(const Measurement measurement, read_all(measured, ranks));
  TRY_ASSIGN(RunFile file, read_run(request, measured, measurement, session.catalog()));
  TRY(check_complete(request, file, measurement, measured, session.catalog()));
  MeasuredFile out;
  if (file.foreign) out.not_modelled = file.foreign->not_modelled;
  TRY_ASSIGN(out.run, run_of(request, std::move(file), session.catalog()));
  TRY_ASSIGN(out.figures, measured_of(measurement, out.run));
  return out;
}

}  // namespace foretrain
