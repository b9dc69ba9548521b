// For tests of runs as they are read and checked: the text of one, in parts that a test may replace.
#pragma once

#include <string>

#include "job/parse_run.h"
#include "spec/catalog.h"
#include "spec/testing.h"

namespace foretrain {

// A stack for models of layernorm, gelu and rope only.
inline const std::string kStack =
    "stack:\n  name: small\n  parts:\n"
    "    embedding: [{op: embedding}]\n"
    "    norm: {layernorm: [{op: layernorm}]}\n"
    "    qkv: [{op: linear, in: hidden, out: qkv}]\n"
    "    rope: [{op: rope, width: qk}]\n"
    "    attention: {flash: [{op: attention, impl: flash, in: qkv, out: q}]}\n"
    "    projection: [{op: linear, in: q, out: hidden}]\n"
    "    mlp: {gelu: [{op: linear, in: hidden, out: ffn}]}\n"
    "    residual: {sequential: [{op: add}]}\n"
    "    head: [{op: linear, in: hidden, out: vocab}]\n"
    "    loss: [{op: cross_entropy, width: vocab}]\n"
    "    optimizer: [{op: adamw}]\n";
inline const std::string kModel =
    "model: {hidden: 6144, layers: 44, heads: 64, kv_heads: 8, ffn: 24576, mlp: gelu, norm: layernorm, "
    "positions: rope, vocab: 50432, tied: false, seq: 2048}\n";
inline const std::string kCluster =
    "cluster:\n"
    "  gpu: {rates_tflops: {bf16: 312}, hbm_gbytes: 2039, memory_mib: 81920, usable_mib: 81000, l2_mib: 40, "
    "sms: 108, clock_mhz: {base: 1095, max: 1410}, power_cap_w: 400}\n"
    "  gpus_per_node: 4\n"
    "  intra: {gbytes: 300, latency_us: 2}\n"
    "  inter: {gbps: 800, latency_us: 6}\n"
    "  host_launch_us: 6\n";
inline const std::string kRest = "gpus: 128\nglobal_batch: 1024\n";
inline const std::string kSpecs = kModel + kCluster + kStack;

inline Result<Run> run_of(const std::string& yaml, const RunOptions& options = {}) {
  return parse_yaml(yaml, "run.yaml").and_then([&](const Node& node) {
    return parse_run(&node, options, Catalog());
  });
}

inline std::string error_of_plan(const std::string& plan) {
  RunOptions options;
  options.plan = plan;
  return error_of(run_of(kSpecs + kRest, options));
}

}  // namespace foretrain
