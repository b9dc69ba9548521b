// Real logs against what their manifest says of them.
#include "format_manifest.h"
#include "samples/kineto_trace.h"
#include "samples/nccl_tests.h"
#include "samples/topo.h"
#include "samples/training_log.h"

using namespace foretrain;

TEST_CASE("logs of nccl-tests: tables and rows") {
  for (const auto& [row, source] : manifest_files("nccl-log")) {
    CAPTURE(row.file);
    const auto imported = import_nccl_tests({source}, {});
    REQUIRE_MESSAGE(imported.has_value() == row.is_read(), (imported ? "read" : imported.error().text()));
    if (!imported) continue;
    std::size_t rows = 0;
    for (const NcclTable& table : imported->tables) rows += table.rows;
    CHECK(static_cast<double>(imported->tables.size()) == row.number("tables"));
    CHECK(static_cast<double>(rows) == row.number("rows"));
  }
}

TEST_CASE("training logs: format, lines, the steady step within 2 %, and the run that they state") {
  const auto argument = [](const TrainingLog& log, std::string_view key) {
    for (const auto& [name, value] : log.run)
      if (name == key) return std::strtod(value.c_str(), nullptr);
    return 0.0;
  };
  constexpr std::pair<const char*, const char*> kArguments[] = {{"layers", "num_layers"},
                                                                {"hidden", "hidden_size"},
                                                                {"heads", "num_attention_heads"},
                                                                {"seq", "seq_length"},
                                                                {"micro_batch", "micro_batch_size"},
                                                                {"global_batch", "global_batch_size"},
                                                                {"global_batch_size", "global_batch_size"},
                                                                {"tp", "tensor_model_parallel_size"},
                                                                {"pp", "pipeline_model_parallel_size"},
                                                                {"ep", "expert_model_parallel_size"},
                                                                {"gpus", "world_size"}};
  for (const auto& [row, source] : manifest_files("training-log")) {
    CAPTURE(row.file);
    const auto log = parse_training_log(source.text, source.name);
    REQUIRE_MESSAGE(log.has_value() == row.is_read(), (log ? "read" : log.error().text()));
    if (!log) continue;
    CHECK(row.facts.at("format").starts_with(log->format));
    if (row.number("lines") > 0) CHECK(static_cast<double>(log->lines) == row.number("lines"));
    const double steady = row.number("steady");
    const double found = row.facts.contains("steady") && row.facts.at("steady").ends_with("ms")
                             ? 1e3 * log->steady.seconds
                             : log->steady.tokens;
    if (steady > 0) CHECK(found == doctest::Approx(steady).epsilon(0.02));
    if (const double samples = row.number("throughput_samples_a_second"); samples > 0)
      CHECK(log->steady.samples == doctest::Approx(samples).epsilon(0.02));
    for (const auto& [fact, key] : kArguments)
      if (row.facts.contains(fact)) CHECK(argument(*log, key) == row.number(fact));
  }
}

TEST_CASE("traces: events, kernels and their time, steps, operators of the host, the device") {
  for (const auto& [row, source] : manifest_files("kineto-trace")) {
    CAPTURE(row.file);
    const auto trace = read_kineto(source.text, source.name);
    REQUIRE_MESSAGE(trace.has_value() == row.is_read(), (trace ? "read" : trace.error().text()));
    if (!trace) continue;
    CHECK(static_cast<double>(trace->events) == row.number("events"));
    CHECK(static_cast<double>(trace->kernels) == row.number("kernels"));
    CHECK(trace->kernel_us == doctest::Approx(row.number("kernel_us")).epsilon(1e-3));
    CHECK(static_cast<double>(trace->collectives) == row.number("collective_kernels"));
    CHECK(static_cast<double>(trace->steps.size()) == row.number("steps"));
    CHECK(static_cast<double>(trace->cpu_operators) == row.number("cpu_ops"));
    CHECK(static_cast<double>(trace->with_inputs) == row.number("input_dims"));
    if (row.facts.contains("device")) CHECK(trace->device == row.facts.at("device"));
    if (row.facts.contains("rank")) CHECK(static_cast<double>(trace->rank) == row.number("rank"));
    if (row.facts.contains("world")) CHECK(static_cast<double>(trace->world) == row.number("world"));
  }
}

TEST_CASE("tables of links: GPUs, NICs, words") {
  for (const auto& [row, source] : manifest_files("topo")) {
    CAPTURE(row.file);
    const auto topology = parse_topo(source.text, source.name);
    REQUIRE_MESSAGE(topology.has_value() == row.is_read(), (topology ? "read" : topology.error().text()));
    if (!topology) continue;
    CHECK(static_cast<double>(topology->gpus) == row.number("gpus"));
    CHECK(static_cast<double>(topology->nics) == row.number("nics"));
    if (row.facts.contains("links"))
      CHECK(join({topology->links.begin(), topology->links.end()}, " ") == row.facts.at("links"));
  }
}
