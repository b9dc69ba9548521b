// A profiler's trace as read (samples/kineto_trace.h):
//
//   rank0.json.gz: NVIDIA H100 80GB HBM3, rank 0 of 8, 68,692 events
//     kernels    4,350 in 468 ms; collectives among them 210 in 61.2 ms; copies 12 in 1.1 ms
//     stream 7   4,140 kernels  407 ms
//     stream 20  210 kernels  61.2 ms  210 collectives
//     steps      5: host 72.1 ms, GPU busy 60.2 ms, exposed collectives 3.1 ms, idle 8.8 ms in 120 gaps (medians)
//     operators  aten::mm 121 ms, aten::add_ 33 ms, ...
//     samples    12 of 480 kernels
#pragma once

#include <string>
#include <vector>

#include "samples/kineto_trace.h"

namespace foretrain {

std::string kineto_text(const KinetoTrace& trace);
// One trace as an object, several as an array (docs/formats/kineto.md).
std::string kineto_json(const std::vector<KinetoTrace>& traces);

}  // namespace foretrain
