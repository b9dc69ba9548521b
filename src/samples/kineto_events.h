// The events of a trace of PyTorch's profiler (Kineto; Chrome's trace format) that tell of a GPU's work:
//   kernel, gpu_memcpy, gpu_memset   what ran, on which stream, when
//   cuda_runtime, cuda_driver        which call launched it (args.correlation)
//   cpu_op                           which operator made that call, with its inputs' sizes where recorded
//   user_annotation ProfilerStep#N   where a step begins and ends on the host
// The text is read as it streams by, so that a trace is never held as a tree; names are kept once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace foretrain {

enum class GpuWork : unsigned char { kKernel, kCollective, kCopy, kSet };

struct GpuEvent {
  double start_us = 0, us = 0;
  std::int64_t device = 0, stream = 0;
  std::int64_t correlation = -1, external = -1;  // -1: not said
  std::int32_t name = 0;                         // of KinetoEvents::names
  GpuWork work = GpuWork::kKernel;
};

struct LaunchEvent {
  std::int64_t correlation = -1;
  double start_us = 0;
  std::int64_t thread = 0;
};

using TensorSizes = std::vector<std::int64_t>;

struct CpuOperator {
  double start_us = 0, us = 0;
  std::int64_t thread = 0, external = -1;
  std::int32_t name = 0;
  std::int32_t inputs = -1;  // of KinetoEvents::inputs; -1: not recorded
};

struct OperatorInputs {
  std::vector<TensorSizes> shapes;
  std::vector<std::string> types;   // "c10::BFloat16", "Scalar"
  std::vector<std::string> values;  // "True", "0."
};

struct StepEvent {
  std::string name;  // "ProfilerStep#5"
  double start_us = 0, us = 0;
};

struct KinetoEvents {
  std::size_t events = 0;       // all of the trace
  std::size_t with_inputs = 0;  // operators of the host whose inputs' sizes are recorded
  std::vector<std::string> names;
  std::vector<GpuEvent> gpu;
  std::vector<LaunchEvent> launches;
  std::vector<CpuOperator> operators;
  std::vector<OperatorInputs> inputs;
  std::vector<StepEvent> steps;  // on the host, each once, in order
  std::string device;            // "NVIDIA H100 80GB HBM3"; empty: not said
  std::string backend;           // of the distributed run, likewise
  std::int64_t rank = -1, world = -1;
};

inline constexpr std::size_t kMaxTraceBytes = std::size_t{512} << 20;  // as it lies on the disk
inline constexpr std::size_t kMaxUnpackedBytes = std::size_t{2} << 30;

// Of JSON, packed or not. An object with traceEvents, or an array of events. Broken JSON is an error with its
// position.
Result<KinetoEvents> parse_kineto(std::string_view bytes, const std::string& file_name);

}  // namespace foretrain
