#!/bin/bash
TP=${TP:-2}; export PP=2
ARGS=(--num-layers 4 --hidden-size 64 --num-attention-heads 4
  --seq-length 128 --max-position-embeddings 128 --micro-batch-size 1 --global-batch-size $((8*TP)) --bf16)
torchrun --nproc_per_node 8 --nnodes "${NNODES:-1}" pretrain_gpt.py "${ARGS[@]}" \
  --tensor-model-parallel-size $TP --pipeline-model-parallel-size=$PP # done
