#!/bin/bash
# Queues a job, as users of clusters do; capture runs it with its recorder instead.
sbatch --nodes 2 --wrap "srun bash -lc 'torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 12 --hidden-size 768 \
  --num-attention-heads 12 --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 4 --global-batch-size 64 --bf16'"
