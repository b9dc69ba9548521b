// A launch: the command with its words, what stands in its environment, the files that it reads, and what only the user knows.
// As text it is a script for bash, which Slurm takes too:
//   #!/bin/bash
//   #SBATCH --nodes=4
//   ...
//   : "${DATA_PATH:?the prefix of preprocessed data}"
//   export CUDA_DEVICE_MAX_CONNECTIONS=1
//   ${SLURM_JOB_ID:+srun} torchrun --nproc_per_node 8 ... pretrain_gpt.py --num-layers 32 ...
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/launch_run.h"

namespace foretrain {

struct Launch {
  // What only the user knows. It stands in words and files as ${NAME}.
  struct Blank {
    std::string name, what, usual;  // usual empty: it has to be given
  };
  struct File {
    std::string name, text;
  };

  std::string framework;                        // in words: "Megatron-LM"
  std::vector<std::string> launcher;            // torchrun and its own words
  std::vector<std::string> program;             // what it starts
  std::vector<std::vector<std::string>> flags;  // each with its values
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<File> files;
  std::vector<Blank> beyond;
  std::vector<std::string> notes;

  std::vector<std::string> argv() const;
};

// torchrun over the nodes of a run, which meet at ${MASTER_ADDR}:${MASTER_PORT}.
void start_by_torchrun(const LaunchRun& run, Launch& launch);

// `about`: lines that the script's head repeats.
std::string launch_script(const Launch& launch, const LaunchRun& run, const std::vector<std::string>& about);

}  // namespace foretrain
