#include "formats/block_table.h"

#include "formats/megatron_table.h"

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

void apply_block(Settings settings, Facts& facts) {
  for (KeySetting& setting : settings) setting.key = megatron_key(setting.key);
  apply_further(kRows, settings, facts);
  if (facts.word("mlp") != "gelu") facts.forget_not_modelled("bias-gelu-fusion turned off");
  if (facts.word("mlp") != "swiglu") facts.forget_not_modelled("bias-swiglu-fusion turned off");
  if (facts.word("plan.attention") == "flash") facts.forget_not_modelled("masked-softmax-fusion turned off");
  if (facts.word("positions") != "rope") facts.forget_not_modelled("apply-rope-fusion turned off");
  if (facts.whole("plan.vpp").value_or(1) < 2) facts.forget_not_modelled("overlap-p2p-comm turned off");
  if (facts.whole("plan.tp").value_or(1) < 2)
    for (const std::string_view bulk : {"tp-comm-bulk-dgrad", "tp-comm-bulk-wgrad"})
      facts.forget_not_modelled(bulk);
}

}  // namespace foretrain
