// Samples from published tables of operators and of exchanges (docs/formats/operator-tables.md), told by their
// headers:
//   gpu,op,dtype,gpus,elements,us,nccl                      NCCL's collectives (aiconfigurator)
//   gpu,device,nodes,hidden,tokens,...,dispatch_us,...      DeepEP's kernels for training (aiconfigurator)
//   gpu,op,dtype,tokens,...,ep,us,kernel,trtllm             TensorRT-LLM's exchanges over NVLink (aiconfigurator)
//   gpu,kernel,ep,tokens_per_rank,...,dispatch_GBps,...     DeepEP's own tables
//   gpu,dtype,m,n,k,us,... and its like                     products, attention (samples/aiconfigurator_tables.cc)
//   gpu,op,dtype,m,k,us,kernel,framework,version            casts (samples/cast_share.h)
//   gpu,op,batch_or_groups,...,efficiency,peak_tflops,us    SimuMax's efficiencies (samples/simumax_tables.cc)
// A table holds several GPUs, and a fabric or a profile is one GPU's: samples are kept apart by it.
//
// DeepEP's dispatch sends fp8, its combine bf16. A table that states GB/s counts what is received, a rank's own
// copies included: of one copy to each rank (bottleneck nvlink) or node (rdma), fp8 rows with their scales.
//
// Of operators that several libraries ran, times over kHeldBack of the fastest are left out: another kernel, or a GPU
// that was held back, neither of which training would see.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "samples/cast_share.h"
#include "samples/collective_sample.h"
#include "samples/sample.h"

namespace foretrain {

struct OperatorTable {
  std::string file;
  std::string layout;  // "DeepEP's kernels"
  std::size_t rows = 0;
  std::size_t samples = 0;                      // a row may hold two
  std::map<std::string, std::size_t> rejected;  // rows by reason
};

struct OperatorTablesImport {
  std::map<std::string, std::vector<CollectiveSample>> samples;  // by GPU
  std::map<std::string, std::vector<Sample>> operators;          // likewise, with `loop_s`
  std::map<std::string, CastsByLibrary> casts;                   // likewise, of which products are freed
  CastsTaken casts_taken;                                        // of operators, left out
  std::size_t held_back = 0;                                     // of operators, left out
  std::vector<OperatorTable> tables;                             // in order
};

// A table of another header, a bad cell, or no sample in any of them: an error with its position.
inline constexpr double kHeldBack = 1.25;
Result<OperatorTablesImport> import_operator_tables(std::vector<Source> tables);
inline constexpr std::size_t kMaxOperatorTableBytes = std::size_t{256} << 20;

// "deepep.csv  DeepEP's kernels  3,412 rows  6,616 samples  104 rows: ...", a line a table, then one a GPU.
std::string import_text(const OperatorTablesImport& imported);

}  // namespace foretrain
