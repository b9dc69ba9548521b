#include "ask/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ask/guard.h"
#include "ask/words.h"
#include "base/did_you_mean.h"
#include "base/field_mark.h"
#include "base/text.h"
#include "report/kineto_report.h"
#include "report/log_report.h"
#include "report/topo_report.h"
#include "samples/kineto_trace.h"
#include "samples/nccl_tests.h"
#include "samples/operator_tables.h"
#include "samples/published.h"
#include "samples/published_collectives.h"
#include "samples/rank_logs.h"
#include "samples/topo.h"
#include "samples/training_log.h"
#include "spec/choice.h"

namespace foretrain {
namespace {

const std::string kFormats[] = {"nccl-tests", "published-samples", "operator-tables", "log", "kineto",
                                "topo"};

Result<ImportAnswer> published_samples(const ImportRequest& request) {
  TRY_ASSIGN(const PublishedImport operators, import_published_samples(request.operators));
  TRY_ASSIGN(const PublishedCollectives collectives, import_published_collectives(request.collectives));
  ImportAnswer answer{{{"operators.csv", to_csv(operators.samples)}},
                      import_text(operators) + import_text(collectives)};
  if (!collectives.samples.empty()) answer.files.push_back({"collectives.csv", to_csv(collectives.samples)});
  return answer;
}

Result<NcclTestsOptions> nccl_options(const ImportRequest& request) {
  NcclTestsOptions options;
  if (!request.collective.empty()) {
    TRY_ASSIGN(options.collective,
               of_field("collective", parse_choice<CollectiveKind>(request.collective, kCollectiveNames)));
    if (is_routed(*options.collective))
      return fail_field("collective",
                        fmt::format("found {}, expected one that nccl-tests time", request.collective));
  }
  TRY_ASSIGN(options.ranks, count_word("ranks", request.ranks));
  TRY_ASSIGN(options.ranks_per_node, count_word("ranks_per_node", request.ranks_per_node));
  if (!request.ranks.empty() && (options.ranks < 2 || options.ranks > 1'000'000))
    return fail_field("ranks", fmt::format("found {}, expected 2 to 10^6", options.ranks));
  if (!request.ranks_per_node.empty() && !request.ranks.empty() &&
      options.ranks % options.ranks_per_node != 0)
    return fail_field("ranks_per_node", fmt::format("found {}, expected a divisor of {} {}",
                                                    options.ranks_per_node, marked("ranks"), options.ranks));
  return options;
}

Result<ImportAnswer> nccl_tests(const ImportRequest& request) {
  if (request.logs.empty()) return fail_field("logs", "found no logs, expected what nccl-tests printed");
  TRY_ASSIGN(const NcclTestsOptions options, nccl_options(request));
  TRY_ASSIGN(const NcclTestsImport result, import_nccl_tests(request.logs, options));
  return ImportAnswer{{{"collectives.csv", to_csv(result.samples)}}, import_text(result)};
}

Result<ImportAnswer> operator_tables(const ImportRequest& request) {
  if (request.logs.empty())
    return fail_field("logs", "found no tables, expected published ones of operators or exchanges");
  TRY_ASSIGN(const OperatorTablesImport result, import_operator_tables(request.logs));
  ImportAnswer answer{{}, import_text(result)};
  for (const auto& [gpu, samples] : result.samples) answer.files.push_back({gpu + ".csv", to_csv(samples)});
  for (const auto& [gpu, samples] : result.operators)
    answer.files.push_back({gpu + "/operators.csv", to_csv(samples)});
  return answer;
}

Result<ImportAnswer> training_logs(const ImportRequest& request) {
  if (request.logs.empty()) return fail_field("logs", "found no log, expected what a training run printed");
  std::vector<TrainingLog> logs;
  ImportAnswer answer;
  for (const Source& source : request.logs) {
    TRY_ASSIGN(TrainingLog log, parse_training_log(source.text, source.name));
    answer.text += log_text(log);
    logs.push_back(std::move(log));
  }
  answer.json = log_json(logs);
  const bool is_one =
      logs.size() > 1 && std::all_of(logs.begin() + 1, logs.end(),
                                     [&](const TrainingLog& log) { return is_same_run(logs.front(), log); });
  if (is_one) answer.text += "as ranks of one run, " + log_text(joined_ranks(std::move(logs)));
  return answer;
}

Result<ImportAnswer> traces(const ImportRequest& request) {
  if (request.logs.empty()) return fail_field("logs", "found no trace, expected one of PyTorch's profiler");
  std::vector<KinetoTrace> traces;
  std::vector<Sample> samples;
  ImportAnswer answer;
  for (const Source& source : request.logs) {
    TRY_ASSIGN(KinetoTrace trace, read_kineto(source.text, source.name));
    answer.text += kineto_text(trace);
    samples.insert(samples.end(), trace.samples.begin(), trace.samples.end());
    const std::string number = request.logs.size() == 1 ? "" : fmt::format("_{}", traces.size() + 1);
    answer.files.push_back({"timeline" + number + ".csv", std::exchange(trace.timeline_csv, "")});
    traces.push_back(std::move(trace));
  }
  if (!samples.empty()) answer.files.push_back({"operators.csv", to_csv(samples)});
  answer.json = kineto_json(traces);
  return answer;
}

Result<ImportAnswer> topologies(const Catalog& catalog, const ImportRequest& request) {
  if (request.logs.size() != 1)
    return fail_field("logs",
                      fmt::format("found {} files, expected one with the output of nvidia-smi topo -m",
                                  request.logs.size()));
  const Source& source = request.logs.front();
  TRY_ASSIGN(const Topology topology, parse_topo(source.text, source.name));
  const std::string name = request.gpu.empty() ? usual_gpu(topology) : request.gpu;
  TRY_ASSIGN(const Gpu gpu, of_field("gpu", catalog.gpu(name)));
  const TopoCluster cluster = topo_cluster(topology, name, gpu.nvlink.value / 1e9, request.gpu.empty());
  return ImportAnswer{{}, cluster.yaml, topo_json(topology, cluster)};
}

}  // namespace

std::size_t ImportRequest::most_bytes() const {
  if (format == "operator-tables") return kMaxOperatorTableBytes;
  if (format == "kineto") return kMaxTraceBytes;
  if (format == "topo") return kMaxTopoBytes;
  return format == "log" ? kMaxTrainingLogBytes : kMaxLogBytes;
}

Result<void> check(const ImportRequest& request) {
  if (request.format.empty()) return fail_field("format", "found nothing" + suggestion("", kFormats));
  if (std::find(std::begin(kFormats), std::end(kFormats), request.format) == std::end(kFormats))
    return fail_field("format", "unknown format " + foretrain::quoted(request.format) +
                                    suggestion(request.format, kFormats));
  if (!request.gpu.empty() && request.format != "topo")
    return fail_field("gpu", "found with " + request.format + ", expected with topo");
  if (request.format == "nccl-tests") {
    TRY(nccl_options(request));
    return {};
  }
  if (!request.collective.empty() || !request.ranks.empty() || !request.ranks_per_node.empty())
    return fail_field("collective",
                      fmt::format("{}, {} and {}: expected with nccl-tests only", marked("collective"),
                                  marked("ranks"), marked("ranks_per_node")));
  return {};
}

Result<ImportAnswer> ask(const Catalog& catalog, const ImportRequest& request) {
  return guarded([&]() -> Result<ImportAnswer> {
    TRY(check(request));
    if (request.format == "operator-tables") return operator_tables(request);
    if (request.format == "log") return training_logs(request);
    if (request.format == "kineto") return traces(request);
    if (request.format == "topo") return topologies(catalog, request);
    return request.format == "nccl-tests" ? nccl_tests(request) : published_samples(request);
  });
}

}  // namespace foretrain
