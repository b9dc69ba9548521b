#include "formats/slurm_header.h"

#include <doctest/doctest.h>

#include "formats/foreign_run.h"

namespace foretrain {
namespace {

TEST_CASE("a batch script's header says nodes, tasks and GPUs") {
  const SlurmHeader header = slurm_header(
      "#!/bin/bash\n#SBATCH -N 4  # four\n#SBATCH --gres=gpu:h100:8 --exclusive\n#SBATCH "
      "--ntasks-per-node=2\n");
  CHECK(header.nodes == 4);
  CHECK(header.gpus_per_node == 8);
  CHECK(header.tasks_per_node == 2);
  const auto variables = slurm_variables(header);
  CHECK(variables.at("SLURM_NNODES") == "4");
  CHECK(variables.at("SLURM_NTASKS") == "8");
  CHECK_FALSE(slurm_header("#SBATCH --nodes=many\n").nodes);
}

TEST_CASE("Slurm's variables are known by its header, and what a script is given besides is nobody's value") {
  const auto run = read_foreign_run(
      "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\nsrun torchrun --nnodes $SLURM_NNODES "
      "--nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 64 --num-attention-heads 4 "
      "--micro-batch-size 1 --tensor-model-parallel-size 2 \"$@\"\n",
      "train.sbatch");
  REQUIRE(run);
  REQUIRE(*run);
  CHECK((*run)->run.find("gpus")->scalar == "32");
  CHECK((*run)->run.find("plan")->find("tp")->scalar == "2");
}

}  // namespace
}  // namespace foretrain
