#include "formats/block_table.h"

namespace foretrain {
namespace {

constexpr KeyRow kRows[] = {
    // Fusions that are on unless somebody turns them off, as the stack is described with.
    {"masked-softmax-fusion", "?time"},
    {"bias-gelu-fusion", "?time"},
    {"bias-swiglu-fusion", "?time"},
    {"bias-dropout-fusion", "?time"},
    {"apply-rope-fusion", "?time"},
    {"gradient-accumulation-fusion", "?time"},
    {"scatter-gather-tensors-in-pipeline", "?time"},
    {"overlap-p2p-comm", "?time"},
    {"barrier-with-L1-time", ""},
    // Said in other words elsewhere in the block.
    {"params-dtype", ""},
    {"encoder-seq-length", ""},
    {"decoder-seq-length", ""},
    {"transformer-pipeline-model-parallel-size", ""},
    {"data-parallel-size", ""},
    {"DDP-impl", ""},
    {"align-grad-reduce", ""},
    {"fp8-wgrad", ""},
    {"fp8-weight-cache", ""},
    {"tp-comm-overlap-*", ""},
    {"tp-comm-split-*", ""},
    {"tp-comm-bootstrap-backend", ""},
    {"deprecated-use-mcore-models", ""},
    {"use-mcore-models", ""},
    {"clone-scatter-output-in-embedding", ""},
    // Checkpoints, logs, data, restarts, watchdogs.
    {"adlr-autoresume*", ""},
    {"app-tag-*", ""},
    {"check-for-nan-*", ""},
    {"create-attention-mask-in-dataloader", ""},
    {"*one-logger*", ""},
    {"error-injection-*", ""},
    {"memory-snapshot-path", ""},
    {"mmap-bin-files", ""},
    {"non-persistent-*", ""},
    {"perform-initialization", ""},
    {"straggler-*", ""},
    {"use-dist-ckpt", ""},
    {"use-tokenizer-model-*", ""},
    {"*-ckpt-*", ""},
    {"rerun-*", ""},
    {"result-rejected-*", ""},
    {"sgd-momentum", ""},
    {"head-lr-mult", ""},
    {"*-prob", ""},
    {"sample-rate", ""},
    // BERT, retrieval, vision, inference: other programs.
    {"bert-*", ""},
    {"biencoder-*", ""},
    {"classes-fraction", ""},
    {"dino-*", ""},
    {"hybrid-mlp-ratio", ""},
    {"ict-*", ""},
    {"img-*", ""},
    {"indexer-*", ""},
    {"inference-*", ""},
    {"iter-per-epoch", ""},
    {"mask-*", ""},
    {"max-tokens-to-oom", ""},
    {"num-channels", ""},
    {"num-classes", ""},
    {"patch-dim", ""},
    {"retriever-*", ""},
    {"retro-*", ""},
    {"swin-*", ""},
    {"vision-*", ""},
    {"mamba-*", ""},
};

}  // namespace

std::span<const KeyRow> block_rows() { return kRows; }

}  // namespace foretrain
