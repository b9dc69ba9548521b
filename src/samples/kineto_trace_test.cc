#include "samples/kineto_trace.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/gzip.h"
#include "operators/operator_text.h"

using namespace foretrain;

namespace {

std::string event(const std::string& category, const std::string& name, double start, double us, int thread,
                  const std::string& arguments = "") {
  return fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":1,"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
                     category, name, thread, start, us, arguments);
}

std::string kernel(const std::string& name, double start, double us, int stream, int correlation) {
  return event("kernel", name, start, us, stream,
               fmt::format(R"("device":0,"stream":{},"correlation":{})", stream, correlation));
}

std::string launch(double start, int thread, int correlation) {
  return event("cuda_runtime", "cudaLaunchKernel", start, 1, thread,
               fmt::format(R"("correlation":{})", correlation));
}

std::string sized(const std::string& sizes, const std::string& types) {
  return fmt::format(R"("Input Dims":{},"Input type":{})", sizes, types);
}
const std::string kTwo = R"(["c10::BFloat16","c10::BFloat16"])";

std::string trace_of(const std::vector<std::string>& events) {
  std::string text = R"({"distributedInfo":{"rank":3,"world_size":8},"traceEvents":[)";
  for (std::size_t i = 0; i < events.size(); ++i) text += (i == 0 ? "" : ",\n") + events[i];
  return text + "]}";
}

KinetoTrace read(const std::vector<std::string>& events) {
  auto trace = read_kineto(trace_of(events), "t.json");
  REQUIRE_MESSAGE(trace.has_value(), (trace ? "" : trace.error().text()));
  return *std::move(trace);
}

std::string words(const Sample& sample) { return operator_label(sample.op) + " " + sizes_text(sample.op); }

}  // namespace

TEST_CASE("kernels by stream; busy, exposed and idle time of a step") {
  // Compute 0..100 and 150..250; a collective 80..180 beside it, alone from 100 to 150; a gap from 250 to 300.
  const KinetoTrace trace = read(
      {event("user_annotation", "ProfilerStep#1", 0, 400, 1),
       event("gpu_user_annotation", "ProfilerStep#1", 0, 400, 7), kernel("a", 0, 100, 7, 1),
       kernel("ncclDevKernel_X", 80, 100, 20, 2), kernel("b", 150, 100, 7, 3),
       event("gpu_memcpy", "Memcpy HtoD", 300, 20, 7, R"("stream":7)"), kernel("outside", 500, 10, 7, 4)});
  CHECK(trace.kernels == 4);
  CHECK(trace.kernel_us == doctest::Approx(310));
  CHECK(trace.collectives == 1);
  CHECK(trace.rank == 3);
  REQUIRE(trace.streams.size() == 2);
  CHECK(trace.streams[1].collective_us == doctest::Approx(100));
  REQUIRE(trace.steps.size() == 1);
  const StepWork& step = trace.steps[0];
  CHECK(step.kernels == 3);
  CHECK(step.host_us == 400);
  CHECK(step.gpu_us == doctest::Approx(320));
  CHECK(step.busy_us == doctest::Approx(270));
  CHECK(step.exposed_us == doctest::Approx(50));
  CHECK(step.gaps == 1);
  CHECK(step.longest_gap_us == doctest::Approx(50));
}

TEST_CASE("a kernel belongs to the step that launched it, and to the innermost operator of that time") {
  const KinetoTrace trace =
      read({event("user_annotation", "ProfilerStep#1", 0, 100, 1),
            event("user_annotation", "ProfilerStep#2", 100, 100, 1), event("cpu_op", "outer", 50, 20, 1),
            event("cpu_op", "aten::add", 55, 5, 1), event("cpu_op", "elsewhere", 55, 5, 2), launch(57, 1, 9),
            kernel("late", 150, 10, 7, 9), launch(65, 1, 10), kernel("later", 170, 20, 7, 10)});
  CHECK(trace.steps[0].kernels == 2);
  CHECK(trace.steps[1].kernels == 0);
  REQUIRE(trace.operators.size() == 2);
  CHECK(trace.operators[0].name == "outer");  // 20 us
  CHECK(trace.operators[1].name == "aten::add");
}

TEST_CASE("products become samples: forward, and by the gradient's size the two of a backward") {
  // y[8,32] = x[8,16] w[16,32]; its gradient is [8,32].
  const KinetoTrace trace =
      read({event("cpu_op", "aten::mm", 0, 10, 1, sized("[[8,16],[16,32]]", kTwo)), launch(5, 1, 1),
            kernel("g", 20, 3, 7, 1), event("cpu_op", "aten::mm", 12, 10, 1, sized("[[8,16],[16,32]]", kTwo)),
            launch(15, 1, 2), kernel("g", 30, 5, 7, 2),
            event("cpu_op", "MmBackward0", 50, 50, 1, sized("[[8,32]]", R"(["c10::BFloat16"])")),
            event("cpu_op", "aten::mm", 55, 5, 1, sized("[[8,32],[32,16]]", kTwo)), launch(56, 1, 3),
            kernel("g", 60, 6, 7, 3), event("cpu_op", "aten::mm", 65, 5, 1, sized("[[32,8],[8,16]]", kTwo)),
            launch(66, 1, 4), kernel("g", 70, 7, 7, 4)});
  REQUIRE(trace.samples.size() == 3);
  CHECK(words(trace.samples[0]) == "linear aten dgrad bf16 m=8 k=16 n=32");
  CHECK(words(trace.samples[1]) == "linear aten fwd bf16 m=8 k=16 n=32");
  CHECK(trace.samples[1].us == 4);  // of 3 and 5
  CHECK(words(trace.samples[2]) == "linear aten wgrad bf16 m=8 k=16 n=32");
  CHECK(trace.samples[2].us == 7);
  CHECK(trace.sampled_kernels == 4);
}

TEST_CASE("square products of a backward go by order; without the gradient's size they are left out") {
  const auto backward = [](const std::string& arguments) {
    return read({event("cpu_op", "MmBackward0", 0, 50, 1, arguments),
                 event("cpu_op", "aten::mm", 5, 5, 1, sized("[[8,8],[8,8]]", kTwo)), launch(6, 1, 1),
                 kernel("g", 60, 6, 7, 1),
                 event("cpu_op", "aten::mm", 15, 5, 1, sized("[[8,8],[8,8]]", kTwo)), launch(16, 1, 2),
                 kernel("g", 70, 7, 7, 2)});
  };
  const KinetoTrace squares = backward(sized("[[8,8]]", R"(["float"])"));
  REQUIRE(squares.samples.size() == 2);
  CHECK(squares.samples[0].op.pass != squares.samples[1].op.pass);
  CHECK(squares.samples[0].us == 6);
  const KinetoTrace unknown = backward("");
  CHECK(unknown.samples.empty());
  CHECK(unknown.left_out.at("sizes or types that make no operator of ours") == 2);
}

TEST_CASE("packed, in an array, without steps") {
  const std::string array = "[" + kernel("a", 1.5, 2.25, 7, 1) + "]";
  const auto trace = read_kineto(gzip(array), "t.json.gz");
  REQUIRE(trace.has_value());
  CHECK(trace->kernel_us == 2.25);
  CHECK(trace->steps.size() == 1);
  CHECK(trace->steps[0].name.empty());
}

TEST_CASE("what is no trace is refused with its place") {
  const auto error = [](const std::string& text) { return read_kineto(text, "t.json").error().text(); };
  CHECK(error("{\"traceEvents\": [\n{\"ph\": x") ==
        "t.json:2:8: error: found broken JSON, expected a trace of PyTorch's profiler");
  CHECK(error("{\"a\": 1}") ==
        "t.json:1:1: error: found JSON without traceEvents, expected a trace of PyTorch's profiler");
  CHECK(error(trace_of({event("cpu_op", "aten::add", 0, 1, 1)})) ==
        "t.json:1:1: error: found 1 events and no kernel of a GPU, expected a trace taken with "
        "ProfilerActivity.CUDA");
  CHECK(error(gzip(std::string("\x08\0et", 4)))
            .starts_with("t.json:1:1: error: found a binary file, expected the JSON of PyTorch's profiler"));
  CHECK(error(std::string(100, '[')) == "t.json:1:1: error: found more than 64 levels, expected events");
}
