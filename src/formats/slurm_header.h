// What the header of a batch script asks Slurm for ("#SBATCH --nodes=4"), and what Slurm's variables hold then.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace foretrain {

struct SlurmHeader {
  std::optional<std::int64_t> nodes, gpus_per_node, tasks_per_node;
};

SlurmHeader slurm_header(std::string_view script);

// SLURM_NNODES and its kin, as far as the header says them.
std::map<std::string, std::string> slurm_variables(const SlurmHeader& header);

}  // namespace foretrain
