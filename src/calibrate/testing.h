// Runs that tests measure: on DGX H100s, by physics alone, from one GPU to four nodes.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "calibrate/learn.h"
#include "calibrate/sensitivity.h"
#include "cost/analytic.h"
#include "job/parse_run.h"
#include "spec/catalog.h"

namespace foretrain {

inline Run run_on_dgx(const std::string& model, std::int64_t gpus, std::int64_t batch,
                      const std::string& plan) {
  RunOptions options;
  options.model = model;
  options.cluster = "dgx-h100";
  options.stack = "generic";
  options.gpus = gpus;
  options.global_batch = batch;
  options.seq = 1024;
  options.plan = plan;
  auto run = parse_run(nullptr, options, Catalog());
  if (!run) throw std::runtime_error(run.error().text());  // the test case that asked for it fails
  return *std::move(run);
}

// Runs that each factor moves in some of them.
inline std::vector<Run> varied_runs() {
  std::vector<Run> out;
  // Large passes, small ones that wait for the host, links inside a node, links between, their latencies, and what hides
  // behind operators.
  for (const auto& [gpus, batch, plan] :
       {std::tuple(8, 32, "tp=1,micro_batch=4,recompute=full,zero=1"),
        std::tuple(8, 32, "tp=8,micro_batch=4"), std::tuple(8, 8, "tp=8"),
        std::tuple(8, 32, "tp=4,micro_batch=8,sp=1"), std::tuple(32, 32, "tp=16,micro_batch=4"),
        std::tuple(32, 8, "tp=16"), std::tuple(64, 64, "tp=32,micro_batch=4"),
        std::tuple(32, 32, "tp=1,zero=3"), std::tuple(16, 64, "tp=1,zero=3"),
        std::tuple(64, 64, "tp=1,zero=3"), std::tuple(64, 64, "tp=4,zero=0,overlap_grad_reduce=0"),
        std::tuple(32, 256, "tp=8,pp=4")})
    out.push_back(run_on_dgx("llama-3-8b", gpus, batch, plan));
  out.push_back(run_on_dgx("gpt2", 1, 1, ""));
  out.push_back(run_on_dgx("gpt2", 1, 16, "micro_batch=16"));
  return out;
}

inline Measured measured_with(const Run& run, const ClusterFactors& truth, const std::string& name) {
  Measured out;
  out.name = name;
  out.run = std::make_shared<const Run>(run);
  out.costs = std::make_shared<const AnalyticCost>(run.cluster);
  out.figures = {{MeasuredPart::kStep, predict_with(run, out.costs, truth).typical.value}};
  return out;
}

inline std::vector<Measured> measured_with(const std::vector<Run>& runs, const ClusterFactors& truth) {
  std::vector<Measured> out;
  for (std::size_t i = 0; i < runs.size(); ++i)
    out.push_back(measured_with(runs[i], truth, "run " + std::to_string(i)));
  return out;
}

}  // namespace foretrain
