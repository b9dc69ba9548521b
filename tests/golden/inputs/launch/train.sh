#!/bin/bash
#SBATCH --nodes=2
# A made-up launch of Megatron-LM.
GPUS_PER_NODE=${GPUS_PER_NODE:-8}
TP=${TP:-2}

MODEL_ARGS=(
    --num-layers 24
    --hidden-size 2048
    --num-attention-heads 16
    --group-query-attention --num-query-groups 8
    --ffn-hidden-size 5632
    --seq-length 4096
    --max-position-embeddings 4096
    --position-embedding-type rope
    --normalization RMSNorm
    --swiglu
    --disable-bias-linear
    --untie-embeddings-and-output-weights
    --hidden-dropout 0 --attention-dropout 0
)
PARALLEL_ARGS=" \
    --tensor-model-parallel-size $TP \
    --pipeline-model-parallel-size 2 \
    --sequence-parallel \
    --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather"

torchrun --nproc_per_node $GPUS_PER_NODE --nnodes 2 --master_addr $MASTER_ADDR pretrain_gpt.py \
    "${MODEL_ARGS[@]}" $PARALLEL_ARGS \
    --micro-batch-size 1 --global-batch-size 128 --bf16 \
    --tokenizer-type Llama2Tokenizer --deterministic-mode --shiny-new-flag \
    --lr 3e-4 --train-iters 1000 --save $1
