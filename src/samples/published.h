// Operator samples in the layout published with arXiv 2509.22832:
// FOLDER/operator/NVIDIA<gpu>_<name>_<dtype>.csv, one table an operator, a column each for tensor parallelism
// (mp), batch (b), heads (h), sequence (l), hidden size (dim), and the times of both passes (F_dur(us),
// B_dur(us); optimizers: dur).
//
// They were sampled with GPT-NeoX blocks, so sizes follow from its layers (t = mp, V = vocabulary a rank):
//   linear1..4     m = b l; (k, n) = (dim, 3 dim/t), (dim/t, dim), (dim, 4 dim/t), (4 dim/t, dim)
//   linear_final   (k, n) = (dim, V), V = 128 ceil(50257 / 128 t): NeoX pads the vocabulary to 128 t. The
//                  published parameter counts of `optimizer` agree: 2 dim (50304 + 1) beside the layers.
//   baddbmm, bmm   batch = b h/t; (m, k, n) = (l, dim/h, l), (l, l, dim/h)
//   optimizers     a layer: 12 dim^2/t + 7 dim/t + 6 dim parameters in 12 tensors (two norms; qkv, dense,
//                  h to 4h and 4h to h with biases); the first stage adds an embedding of V dim (1 tensor),
//                  the last a norm and a head of 2 dim + V dim (3 tensors). `optimizer` gives its own counts;
//                  its times go by tensors (a loop over them), so it is impl eager, the others fused.
// A backward time covers all gradients. The group label is the hidden size, for studies that keep it apart.
//
// How they were timed (the samplers' code is public) decides what they are samples of:
//   - The loss is a mean of squares over all n outputs in fp16, so gradients are 2 (y - target) / n: below
//     fp16's least number for n over some 10^7, and a few of its last bits before. A product of zeros draws
//     less power and runs faster: linear's backward is impl `zero-grad`. On our H200 such a backward takes
//     1.68 to 1.88 times its forward, one of random gradients 1.8 to 2.05. Products of the attention scores
//     are bound by memory: their backward agrees with the forward of the same shapes, so they stay as they
//     are.
//   - RMSNorm kept an fp32 scale: impl `fp32-scale`.
//   - A time is the span from the first kernel of a function to the end of the last, launched under a
//   profiler:
//     functions of several small kernels (RoPE) have a floor of host time, which cleaning finds.
#pragma once

#include <string>
#include <vector>

#include "base/files.h"
#include "samples/sample.h"

namespace foretrain {

struct ImportedFile {
  std::string name;
  std::size_t rows = 0;
  std::size_t samples = 0;
  std::size_t skipped = 0;  // rows whose sizes do not come out whole
};

struct PublishedImport {
  std::vector<Sample> samples;
  std::vector<ImportedFile> files;   // in order of name
  std::vector<std::string> ignored;  // tables that hold no operator samples that we know
};

// `folder` is that of one site, with a folder `operator` in it; its collectives are read by
// samples/published_collectives.h. Of tables that we do not know only the name is taken.
Result<Sources> published_sources(const Files& files, const std::string& folder);
Result<PublishedImport> import_published_samples(const Sources& operators);

// "linear1_fp16.csv ... 1,755 rows 3,510 samples", a line a file, and what was left out.
std::string import_text(const PublishedImport& imported);

}  // namespace foretrain
