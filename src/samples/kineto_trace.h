// A profiler's trace as a measured timeline: what ran on which stream, what of it belongs to which step, when
// the GPU idled, and how much of the collectives nothing hid (docs/formats/kineto.md).
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "samples/kernel_family.h"
#include "samples/kineto_events.h"
#include "samples/sample.h"

namespace foretrain {

struct StreamWork {
  std::int64_t device = 0, stream = 0;
  std::size_t kernels = 0, collectives = 0, copies = 0;  // copies and fills
  double us = 0, collective_us = 0, copy_us = 0;         // us: all kernels, collectives among them
};

struct StepWork {
  std::string name;    // "ProfilerStep#5"; empty: the whole trace, which names no steps
  double host_us = 0;  // as the host saw it; 0: not said
  std::size_t kernels = 0, gaps = 0;
  double gpu_us = 0;      // from its first kernel's start to its last one's end
  double busy_us = 0;     // with anything running
  double exposed_us = 0;  // with collectives and nothing else running
  double longest_gap_us = 0;
  std::array<double, kKernelFamilyCount> family_us{};  // kernels', whether or not others ran beside them
  double idle_us() const { return gpu_us - busy_us; }
};

struct NamedWork {
  std::string name;
  std::size_t kernels = 0;
  double us = 0;
};

struct KinetoTrace {
  std::string file, device, backend;
  std::int64_t rank = -1, world = -1;  // -1: not said
  std::size_t events = 0, cpu_operators = 0, with_inputs = 0;
  std::size_t kernels = 0, collectives = 0, copies = 0;
  double kernel_us = 0, collective_us = 0, copy_us = 0;
  std::vector<StreamWork> streams;   // by device and stream
  std::vector<StepWork> steps;       // in order
  std::vector<NamedWork> operators;  // of the host, by what their kernels take, most first
  std::vector<NamedWork> collective_kernels;
  std::vector<Sample> samples;
  std::size_t sampled_kernels = 0;
  std::map<std::string, std::size_t> left_out;  // kernels that are in no sample, by reason
  std::string timeline_csv;  // an event a line: step,device,stream,start_us,us,work,operator,name
};

// A trace without GPU kernels is refused.
Result<KinetoTrace> read_kineto(std::string_view bytes, const std::string& file_name);

}  // namespace foretrain
