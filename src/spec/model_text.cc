#include "spec/model_text.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/yaml_text.h"
#include "spec/read_fields.h"

namespace foretrain {

namespace {

constexpr std::int64_t kMaxWidth = 1'000'000;
constexpr std::int64_t kMaxLayers = 10'000;
constexpr std::int64_t kMaxHeads = 10'000;
constexpr std::int64_t kMaxHeadDim = 10'000;
constexpr std::int64_t kMaxVocab = 100'000'000;
constexpr std::int64_t kMaxSeq = 100'000'000;
// Bytes of weights and states then stay below 2^53, where doubles are exact. The limits above keep the count
// itself below 5 * 10^18, inside 64 bits.
constexpr std::int64_t kMaxParameters = 1'000'000'000'000'000;

Result<Block> parse_block(const Node& node, std::int64_t hidden) {
  Block block;
  TRY(read_required(node, "heads", block.heads, WholeNumber{1, kMaxHeads}));
  block.kv_heads = block.heads;
  TRY(read_optional(node, "kv_heads", block.kv_heads, WholeNumber{1, kMaxHeads}));
  if (block.heads % block.kv_heads != 0)
    return fail(fmt::format("kv_heads {} does not divide heads {}", block.kv_heads, block.heads),
                node.find("kv_heads")->at);
  TRY(read_optional(node, "head_dim", block.head_dim, WholeNumber{1, kMaxHeadDim}));
  if (block.head_dim == 0) {
    if (hidden % block.heads != 0)
      return fail(fmt::format("heads {} does not divide hidden {}; state head_dim", block.heads, hidden),
                  node.find("heads")->at);
    block.head_dim = hidden / block.heads;
  }
  TRY(read_required(node, "ffn", block.ffn, WholeNumber{1, kMaxWidth}));
  TRY(read_required(node, "mlp", block.mlp, OneOf{kMlpNames}));
  return block;
}

Result<void> read_positions(const Node& node, Model& model) {
  TRY(read_required(node, "positions", model.positions, OneOf{kPositionsNames}));
  TRY(read_optional(node, "rotary_fraction", model.rotary_fraction, RealNumber{0.0, 1.0}));
  TRY(read_optional(node, "max_positions", model.max_positions, WholeNumber{1, kMaxSeq}));
  if (model.positions == Positions::kLearned && model.max_positions == 0) {
    if (model.default_seq == 0)
      return fail("missing key 'max_positions', which learned positions need (or state seq)", node.at);
    model.max_positions = model.default_seq;
  }
  return {};
}

Result<void> read_biases(const Node& node, Model& model) {
  TRY(read_optional(node, "biases", model.biases));
  model.qkv_bias = model.biases;
  TRY(read_optional(node, "qkv_bias", model.qkv_bias));
  model.norm_bias = model.biases && model.norm != Norm::kRmsnorm;
  TRY(read_optional(node, "norm_bias", model.norm_bias));
  if (model.norm == Norm::kRmsnorm && model.norm_bias)
    return fail("norm_bias: rmsnorm has no bias", node.find("norm_bias")->at);
  return {};
}

// Defaults: models with layer norms (GPT-2, GPT-NeoX, BLOOM, Falcon) store one matrix, those with rms norms
// (Llama, Mistral, Qwen, Gemma) three; GPT-2 and its kin with learned positions approximate gelu by tanh.
Result<void> read_forms(const Node& node, Model& model) {
  model.fused_qkv = model.norm == Norm::kLayernorm;
  TRY(read_optional(node, "fused_qkv", model.fused_qkv));
  TRY(read_optional(node, "qk_norm", model.qk_norm));
  model.gelu = model.positions == Positions::kLearned ? Gelu::kTanh : Gelu::kErf;
  return read_optional(node, "gelu", model.gelu, OneOf{kGeluNames});
}

Result<void> check_parameters(const Node& node, const Model& model) {
  const std::int64_t count = parameters(model);
  if (count > kMaxParameters)
    return fail(fmt::format("the model has {} parameters, more than 10^15", count), node.at);
  if (model.stated_params != 0 && model.stated_params != count)
    return fail(fmt::format("params {} is stated, but the other fields give {}", model.stated_params, count),
                node.find("params")->at);
  return {};
}

}  // namespace

Result<Model> parse_model(const Node& node) {
  TRY(only_fields(node, "a model",
                  {"name",     "hidden",  "layers", "heads",     "kv_heads",        "head_dim",
                   "ffn",      "mlp",     "norm",   "positions", "rotary_fraction", "max_positions",
                   "vocab",    "tied",    "biases", "qkv_bias",  "norm_bias",       "embedding_norm",
                   "residual", "dropout", "params", "seq",       "source",          "fused_qkv",
                   "gelu",     "qk_norm"}));
  Model model;
  model.name = "inline";
  TRY(read_optional(node, "name", model.name));
  TRY(read_optional(node, "source", model.source));
  TRY(read_required(node, "hidden", model.hidden, WholeNumber{1, kMaxWidth}));
  BlockRun run;
  TRY(read_required(node, "layers", run.count, WholeNumber{1, kMaxLayers}));
  TRY_ASSIGN(run.block, parse_block(node, model.hidden));
  model.blocks = {run};
  TRY(read_required(node, "norm", model.norm, OneOf{kNormNames}));
  TRY(read_required(node, "vocab", model.vocab, WholeNumber{1, kMaxVocab}));
  TRY(read_required(node, "tied", model.tied));
  TRY(read_optional(node, "embedding_norm", model.embedding_norm));
  TRY(read_optional(node, "residual", model.residual, OneOf{kResidualNames}));
  TRY(read_optional(node, "dropout", model.dropout, RealNumber{0.0, 0.99}));
  TRY(read_optional(node, "seq", model.default_seq, WholeNumber{1, kMaxSeq}));
  TRY(read_positions(node, model));
  TRY(read_biases(node, model));
  TRY(read_forms(node, model));
  TRY(read_optional(node, "params", model.stated_params, WholeNumber{1, kMaxParameters}));
  TRY(check_parameters(node, model));
  return model;
}

std::string to_yaml(const Model& model) {
  CHECK_THAT(model.blocks.size() == 1);  // the file format has one kind of block
  const Block& block = model.blocks[0].block;
  std::string out = fmt::format("name: {}\n", yaml_quoted(model.name));
  const auto line = [&out](std::string_view key, const auto& value) {
    out += fmt::format("{}: {}\n", key, value);
  };
  if (!model.source.empty()) line("source", yaml_quoted(model.source));
  line("hidden", model.hidden);
  line("layers", model.blocks[0].count);
  line("heads", block.heads);
  line("kv_heads", block.kv_heads);
  line("head_dim", block.head_dim);
  line("ffn", block.ffn);
  line("mlp", kMlpNames[static_cast<std::size_t>(block.mlp)]);
  line("norm", kNormNames[static_cast<std::size_t>(model.norm)]);
  line("positions", kPositionsNames[static_cast<std::size_t>(model.positions)]);
  line("rotary_fraction", model.rotary_fraction);
  if (model.max_positions != 0) line("max_positions", model.max_positions);
  line("vocab", model.vocab);
  line("tied", model.tied);
  line("biases", model.biases);
  line("qkv_bias", model.qkv_bias);
  line("norm_bias", model.norm_bias);
  line("fused_qkv", model.fused_qkv);
  line("gelu", kGeluNames[static_cast<std::size_t>(model.gelu)]);
  line("qk_norm", model.qk_norm);
  line("embedding_norm", model.embedding_norm);
  line("residual", kResidualNames[static_cast<std::size_t>(model.residual)]);
  if (model.dropout) line("dropout", *model.dropout);
  if (model.default_seq != 0) line("seq", model.default_seq);
  if (model.stated_params != 0) line("params", model.stated_params);
  return out;
}

}  // namespace foretrain
