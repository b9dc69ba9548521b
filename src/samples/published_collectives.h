// Collective samples in the layout published with arXiv 2509.22832:
//   FOLDER/nccl/NVIDIA<gpu>_<name>_<dtype>_<nodes>_<GPUs a node>.csv   shape,nodes,GPUsPerNode,dur(us)
// where <name> is allreduce, allgather or p2p, with _large for a second table of larger sizes. `shape` counts
// elements: of the tensor (allreduce), of what each rank gives (allgather, so the whole is `ranks` times
// that), of the message (p2p). Tables without the two numbers hold the rows of those with them once more, so
// only rows that stand nowhere else are taken from them. Every sample's source is its table, so that a study
// can fit the small sizes and judge the large ones.
#pragma once

#include <string>
#include <vector>

#include "base/files.h"
#include "samples/collective_sample.h"

namespace foretrain {

struct ImportedCollectives {
  std::string name;  // of the table
  std::size_t rows = 0;
  std::size_t samples = 0;  // the other rows stand in a table of one layout, too
};

struct PublishedCollectives {
  std::vector<CollectiveSample> samples;
  std::vector<ImportedCollectives> files;  // in order of name, those of one layout first
  std::vector<std::string> ignored;        // tables that hold no collectives that we know
};

// `folder` is that of one site; without a folder `nccl` in it there are none. Of tables that we do not know
// only the name is taken.
Result<Sources> published_collective_sources(const Files& files, const std::string& folder);
Result<PublishedCollectives> import_published_collectives(const Sources& tables);

// "allreduce_fp16_1_2.csv ... 1,729 rows 1,729 samples", a line a table; empty where there are none.
std::string import_text(const PublishedCollectives& imported);

}  // namespace foretrain
