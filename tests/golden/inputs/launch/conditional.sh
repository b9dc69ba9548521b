#!/bin/bash
if [ "$PRECISION" = fp16 ]; then
  PRECISION_ARGS="--fp16"
else
  PRECISION_ARGS="--bf16"
fi
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 12 --hidden-size 768 --num-attention-heads 12 \
  --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 4 --global-batch-size 32 $PRECISION_ARGS
