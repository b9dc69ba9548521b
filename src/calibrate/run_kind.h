// What kind of work a run is, by what its plan does not choose: a framework's way with a model in a format at a length. Runs
// of one kind share what a predictor does not know of it (kernels of these sizes, what the framework does besides).
//
//   likeness = exp(-1.5 [another model] - 1.5 [another format] - 2 [another stack] - 0.35 |log(seq / seq')|)
//
// The lengths were chosen by hand among a few that were tried on published runs, which gave the same errors to a few tenths of a
// point: runs of one model on one cluster lie within 0.008 to 0.036 of each other where those of all its models spread by 0.03
// to 0.07 (docs/calibrate.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/run.h"

namespace foretrain {

struct RunKind {
  std::string model;  // by its sizes, as names differ: "32 x 4096, 6.74 B"
  std::string stack;
  std::string precision;
  std::int64_t seq = 0;

  bool operator==(const RunKind&) const = default;
};

RunKind kind_of(const Model& model, const Stack& stack, const Plan& plan, std::int64_t seq);
inline RunKind kind_of(const Run& run) { return kind_of(run.model, run.stack, run.plan, run.seq); }

double likeness(const RunKind& a, const RunKind& b);  // 1: of one kind

// "another model", "seq 4096 instead of 8192"
std::vector<std::string> differences(const RunKind& a, const RunKind& from);

}  // namespace foretrain
