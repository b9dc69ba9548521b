#include "spec/stack_text.h"

#include <doctest/doctest.h>

#include <string>

#include "spec/testing.h"

using namespace foretrain;

namespace {

const std::string kParts =
    "parts:\n"
    "  embedding: [{op: embedding, saves: [input]}]\n"
    "  qkv:\n"
    "    - {op: linear, in: hidden, out: qkv, saves: [input]}\n"
    "    - {op: bias, width: qkv, when: qkv_bias, launches: [1, 2]}\n"
    "  projection: [{op: linear, in: q, out: hidden, launches: [1, 1, 3]}]\n"
    "  mlp: {geglu: [{op: geglu, impl: fused, width: ffn, times: 2, selective: true}]}\n"
    "  head: [{op: linear, in: hidden, out: vocab}]\n"
    "  loss: [{op: cross_entropy, width: vocab, impl: eager, saves: [output_fp32, stats]}]\n"
    "  optimizer: [{op: grad_norm}, {op: adamw, impl: fused, launches: [7]}]\n";

Result<Stack> stack_of(const std::string& yaml) { return parse_yaml(yaml, "s.yaml").and_then(parse_stack); }

std::string error_of(const std::string& yaml) { return error_of(stack_of(yaml)); }

}  // namespace

TEST_CASE("a stack's parts are lists of operators") {
  const auto stack = stack_of(kParts);
  REQUIRE_MESSAGE(stack.has_value(), error_of(kParts));
  REQUIRE(stack->parts.qkv.size() == 2);
  CHECK(stack->parts.qkv[0].kind == OperatorKind::kLinear);
  CHECK(stack->parts.qkv[0].out == Width::kQkv);
  CHECK(stack->parts.qkv[0].launches == std::array<std::int64_t, 3>{1, 1, 1});
  CHECK(stack->parts.qkv[0].saves == std::vector<SavedTensor>{SavedTensor::kInput});
  CHECK(stack->parts.qkv[1].when == Condition::kQkvBias);
  CHECK(stack->parts.qkv[1].out == Width::kQkv);
  CHECK(stack->parts.qkv[1].launches == std::array<std::int64_t, 3>{1, 2, 0});
  CHECK(stack->parts.embedding[0].in == Width::kHidden);
  const Part& geglu = stack->parts.mlp[static_cast<std::size_t>(MlpKind::kGeglu)];
  REQUIRE(geglu.size() == 1);
  CHECK(geglu[0].impl == Impl::kFused);
  CHECK(geglu[0].times == 2);
  CHECK(geglu[0].selective);
  CHECK(stack->parts.optimizer[0].launches == std::array<std::int64_t, 3>{1, 0, 0});
  CHECK(stack->parts.optimizer[1].launches == std::array<std::int64_t, 3>{7, 0, 0});
}

TEST_CASE("parts of experts say what they have rows of, and what is launched for each expert") {
  const std::string experts =
      "  router: [{op: linear, in: hidden, out: experts, fp32: true, when: router_fp32}, "
      "{op: route, impl: eager}]\n"
      "  dispatch: {alltoall: [{op: permute, impl: eager, width: hidden}]}\n"
      "  experts: {swiglu: [{op: grouped_product, in: hidden, out: expert_gate_up, rows: routed, "
      "each_expert: true}, {op: swiglu, impl: halves, width: expert_ffn, rows: routed}]}\n"
      "  depart: {deepep: [{op: copy, width: hidden, rows: routed, when: exchanged}]}\n"
      "  combine: {alltoall: [{op: unpermute, impl: fused, width: hidden}]}\n"
      "  experts_loop: {gelu: [{op: add, width: expert_ffn, rows: weights, each_expert: true}]}\n"
      "  shared: [{op: linear, in: hidden, out: one, when: shared_gate}]\n"
      "  latent_down: [{op: linear, in: hidden, out: kv_down, when: no_q_rank}]\n"
      "  latent_up: [{op: linear, in: kv_rank, out: kv_up}, {op: copy, width: attended, when: latent}]\n";
  const auto stack = stack_of(kParts + experts);
  REQUIRE_MESSAGE(stack.has_value(), error_of(kParts + experts));
  const Stack::Parts& parts = stack->parts;
  CHECK(parts.router[0].out == Width::kExperts);
  CHECK(parts.router[0].rows == Rows::kTokens);
  CHECK(parts.router[0].fp32);
  CHECK(parts.router[0].when == Condition::kRouterFp32);
  CHECK_FALSE(parts.router[1].fp32);
  CHECK(parts.router[1].kind == OperatorKind::kRoute);
  constexpr auto kAllToAll = static_cast<std::size_t>(Dispatcher::kAllToAll);
  constexpr auto kDeepEp = static_cast<std::size_t>(Dispatcher::kDeepEp);
  CHECK(parts.dispatch[kAllToAll][0].kind == OperatorKind::kPermute);
  CHECK(parts.depart[kDeepEp][0].when == Condition::kExchanged);
  CHECK(has_dispatcher(*stack, Dispatcher::kDeepEp));
  CHECK_FALSE(has_dispatcher(*stack, Dispatcher::kHybridEp));
  const Part& swiglu = parts.experts[static_cast<std::size_t>(MlpKind::kSwiglu)];
  REQUIRE(swiglu.size() == 2);
  CHECK(swiglu[0].rows == Rows::kRouted);
  CHECK(swiglu[0].each_expert);
  CHECK(swiglu[0].out == Width::kExpertGateUp);
  CHECK_FALSE(swiglu[1].each_expert);
  CHECK(swiglu[1].impl == Impl::kHalves);
  CHECK(parts.experts[static_cast<std::size_t>(MlpKind::kGelu)].empty());
  CHECK(parts.combine[kAllToAll][0].impl == Impl::kFused);
  CHECK(parts.experts_loop[static_cast<std::size_t>(MlpKind::kGelu)][0].rows == Rows::kWeights);
  CHECK(parts.shared[0].when == Condition::kSharedGate);
  CHECK(parts.latent_down[0].when == Condition::kNoQRank);
  CHECK(parts.latent_up[1].in == Width::kAttended);
  CHECK(error_of(kParts + replaced(experts, "rows: routed", "rows: route")) ==
        "s.yaml:13:83: error: rows: unknown word 'route'; did you mean 'routed'?");
  CHECK(error_of(kParts + replaced(experts, "op: grouped_product, in: hidden, out: expert_gate_up",
                                   "op: grouped_product, width: hidden")) ==
        "s.yaml:13:51: error: grouped_product takes 'in' and 'out', not 'width'");
}

TEST_CASE("a variant that a stack leaves out is empty") {
  const Stack stack = *stack_of(kParts);
  CHECK(stack.parts.mlp[static_cast<std::size_t>(MlpKind::kGelu)].empty());
  CHECK(stack.parts.norm[0].empty());
  CHECK(stack.parts.rope.empty());
}

TEST_CASE("a stack's choices are read, and keep their defaults where nothing is stated") {
  Stack wanted = *stack_of(kParts);
  CHECK(wanted.default_attention == AttentionKind::kFlash);
  CHECK(wanted.host.calls_per_recompute == 0);
  const auto stack =
      stack_of(kParts +
               "name: x\nsource: y\ndefault_attention: unfused\ndefault_dropout: 0.1\n"
               "gradients: {dtype: bf16, reduce_dtype: fp16, fp16_stays: true, fused_accumulation: false}\n"
               "states: {master_weights: false, moments: bf16, lazy_gradients: true}\n"
               "tensor_parallel: {blocking: false, parallel_all_reduces: [1, 2], sp_gather_again: true, "
               "sp_copies: true, vocab_multiple: 128}\n"
               "pipeline: {split: pipeline_layers, blocking: false, sends_mask: true, scatter_gather: true}\n"
               "data_parallel: {overlap: true, bucket_elements: 40000000, zero_reduce_scatter: false, "
               "overlap_param_gather: true, prefetch: [none, after], reshard_after_forward: false, "
               "zero2_gather: forward, shard_exchange: tensor_and_rank, gradient_copies: 2}\n"
               "host: {syncs_per_layer: 2, calls_per_layer: [7, 9], calls_of_experts: [5, 4], "
               "calls_per_expert: [6, 8], "
               "calls_of_latent: [2, 1], calls_per_recompute: 3, "
               "calls_per_unit: 4, calls_per_shard: 12, "
               "calls_per_pass: [5, 6], sync_after_pass: true, calls_per_batch: 8, copies_per_batch: 10, "
               "calls_per_step: 11}\n");
  REQUIRE(stack.has_value());
  wanted.name = "x";
  wanted.source = "y";
  wanted.default_attention = AttentionKind::kUnfused;
  wanted.default_dropout = 0.1;
  wanted.gradients.dtype = Dtype::kBf16;
  wanted.gradients.reduce_dtype = Dtype::kFp16;
  wanted.gradients.fp16_stays = true;
  wanted.gradients.fused_accumulation = false;
  wanted.states.master_weights = false;
  wanted.states.moments = Dtype::kBf16;
  wanted.states.lazy_gradients = true;
  wanted.tensor_parallel.blocking = false;
  wanted.tensor_parallel.parallel_all_reduces = {1, 2};
  wanted.tensor_parallel.sp_gather_again = true;
  wanted.tensor_parallel.sp_copies = true;
  wanted.tensor_parallel.vocab_multiple = 128;
  wanted.pipeline.split = StageSplit::kPipelineLayers;
  wanted.pipeline.blocking = false;
  wanted.pipeline.sends_mask = true;
  wanted.pipeline.scatter_gather = true;
  wanted.data_parallel.overlap = true;
  wanted.data_parallel.bucket_elements = 40000000;
  wanted.data_parallel.zero_reduce_scatter = false;
  wanted.data_parallel.overlap_param_gather = true;
  wanted.data_parallel.prefetch = {Prefetch::kNone, Prefetch::kAfter};
  wanted.data_parallel.reshard_after_forward = false;
  wanted.data_parallel.zero2_gather = Zero2Gather::kForward;
  wanted.data_parallel.shard_exchange = ShardExchange::kTensorAndRank;
  wanted.data_parallel.gradient_copies = 2;
  wanted.host.syncs_per_layer = 2;
  wanted.host.calls_per_layer = {7, 9};
  wanted.host.calls_of_experts = {5, 4};
  wanted.host.calls_per_expert = {6, 8};
  wanted.host.calls_of_latent = {2, 1};
  wanted.host.calls_per_recompute = 3;
  wanted.host.calls_per_shard = 12;
  wanted.host.calls_per_unit = 4;
  wanted.host.calls_per_pass = {5, 6};
  wanted.host.sync_after_pass = true;
  wanted.host.calls_per_batch = 8;
  wanted.host.copies_per_batch = 10;
  wanted.host.calls_per_step = 11;
  CHECK(*stack == wanted);
}

TEST_CASE("a wrong stack is refused") {
  CHECK(error_of("name: x\n") == "s.yaml:1:1: error: missing key 'parts'");
  CHECK(error_of(replaced(kParts, "op: bias", "op: bais")) ==
        "s.yaml:5:12: error: op: unknown word 'bais'; did you mean 'bias'?");
  CHECK(error_of(replaced(kParts, "in: hidden, out: qkv", "width: qkv")) ==
        "s.yaml:4:27: error: linear takes 'in' and 'out', not 'width'");
  CHECK(error_of(replaced(kParts, "width: qkv", "in: qkv")) ==
        "s.yaml:5:22: error: 'in' belongs to a product; bias takes 'width'");
  CHECK(error_of(replaced(kParts, "launches: [1, 2]", "launches: [1]")) ==
        "s.yaml:5:56: error: launches: expected a list of two or three counts, [forward, backward, weights]");
  CHECK(error_of(replaced(kParts, "launches: [7]", "launches: [7, 7]")) ==
        "s.yaml:10:67: error: launches: expected a list of one count, [step]");
  CHECK(error_of(replaced(kParts, "launches: [7]", "launches: [10001]"))
            .starts_with("s.yaml:10:68: error: launches: "));
  CHECK(error_of(replaced(kParts, "saves: [input]", "saves: [inputs]")) ==
        "s.yaml:2:39: error: saves: unknown word 'inputs'; did you mean 'input'?");
  CHECK(error_of(replaced(kParts, "[{op: embedding, saves: [input]}]", "[]")) ==
        "s.yaml:2:14: error: embedding: expected a list of operators");
  std::string many = "[{op: embedding}";
  for (int i = 0; i < 64; ++i) many += ", {op: dropout}";
  CHECK(error_of(replaced(kParts, "[{op: embedding, saves: [input]}]", many + "]")) ==
        "s.yaml:2:14: error: embedding: found 65 operators, expected at most 64");
  CHECK(error_of(replaced(kParts, "geglu: [", "gegelu: [")) ==
        "s.yaml:7:9: error: unknown key 'gegelu'; did you mean 'geglu'?");
  CHECK(error_of(replaced(kParts, "  head:", "  haed:")) ==
        "s.yaml:8:3: error: unknown key 'haed'; did you mean 'head'?");
  CHECK(error_of(kParts + "pipeline: {splitt: even}\n") ==
        "s.yaml:11:12: error: unknown key 'splitt'; did you mean 'split'?");
  CHECK(error_of(kParts + "host: {calls_per_layer: 1}\n").find("expected a list of two counts") !=
        std::string::npos);
  CHECK(error_of(kParts + "tensor_parallel: {parallel_all_reduces: 1}\n") ==
        "s.yaml:11:41: error: parallel_all_reduces: expected a list of two counts, [forward, backward]");
}

TEST_CASE("an operator may say what it holds while it runs, and attention alone that its mask is a tensor") {
  const std::string extra =
      replaced(kParts, "saves: [output_fp32, stats]", "saves: [stats], extra: [6, 8.5]");
  CHECK(stack_of(extra)->parts.loss[0].extra == std::array{6.0, 8.5});
  CHECK_FALSE(stack_of(kParts)->parts.loss[0].extra);
  CHECK(error_of(replaced(extra, "[6, 8.5]", "6")) ==
        "s.yaml:9:80: error: extra: expected a list of two numbers, bytes an element [forward, backward]");
  CHECK(error_of(replaced(extra, "[6, 8.5]", "[6, -1]")).starts_with("s.yaml:9:84: error: extra: "));
  const std::string attention =
      kParts + "  attention: {flash: [{op: attention, impl: masked, in: qkv, out: q}]}\n";
  CHECK(stack_of(attention)->parts.attention[0][0].impl == Impl::kMasked);
  CHECK(error_of(replaced(kParts, "impl: fused, width", "impl: masked, width")) ==
        "s.yaml:7:22: error: geglu has no implementation masked");
  CHECK(stack_of(kParts + "recompute: {stops_early: true}\n")->recompute.stops_early);
  CHECK_FALSE(stack_of(kParts)->recompute.stops_early);
}

TEST_CASE("operators out of place and formats that gradients cannot have are refused") {
  const auto with_optimizer = [](const std::string& op) {
    std::string yaml = kParts;
    yaml.replace(yaml.find("{op: grad_norm}"), 15, op);
    return error_of(yaml);
  };
  CHECK(with_optimizer("{op: add}").find("add does not belong in the optimizer") != std::string::npos);
  CHECK(with_optimizer("{op: grad_norm, when: dropout}").find("'when'") != std::string::npos);
  const auto with_embedding = [](const std::string& op) {
    std::string yaml = kParts;
    yaml.replace(yaml.find("{op: embedding, saves: [input]}"), 31, op);
    return error_of(yaml);
  };
  CHECK(with_embedding("{op: adamw}").find("adamw does not belong outside the optimizer") !=
        std::string::npos);
  CHECK(with_embedding("{op: accumulate}").find("fused_accumulation") != std::string::npos);
  CHECK(
      with_embedding("{op: latent_attention, impl: sdpa}")
          .find("s.yaml:2:20: error: latent_attention is not listed: attention is, and the model decides") !=
      std::string::npos);
  for (const std::string impl : {"zero-grad", "fused-bf16"})  // of samples, and of the states
    CHECK(with_embedding("{op: linear, impl: " + impl + "}").find("linear has no implementation " + impl) !=
          std::string::npos);
  CHECK(with_embedding("{op: rmsnorm, impl: flash}").find("rmsnorm has no implementation flash") !=
        std::string::npos);
  CHECK(error_of(kParts + "gradients: {dtype: nvfp4}\n").find("expected fp32, fp16 or bf16") !=
        std::string::npos);
}

TEST_CASE("what memory asks of a stack is read, and refused where it is nothing that is known") {
  const auto stack = stack_of(
      kParts +
      "gradients: {autograd_copies: true}\n"
      "states: {weights: fp32}\n"
      "tensor_parallel: {sp_buffers: 2}\n"
      "data_parallel: {bucket_buffers: true, gather_copies: 2, gathered_units: 3, reduce_buffers: 2}\n"
      "memory_log: {counter: allocated, stage: first}\n");
  REQUIRE(stack.has_value());
  CHECK(stack->gradients.autograd_copies);
  CHECK(stack->states.fp32_weights);
  CHECK(stack->tensor_parallel.sp_buffers == 2);
  CHECK(stack->data_parallel.bucket_buffers);
  CHECK(stack->data_parallel.gather_copies == 2);
  CHECK(stack->data_parallel.gathered_units == 3);
  CHECK(stack->data_parallel.reduce_buffers == 2);
  CHECK(stack->memory_log.counter == MemoryCounter::kAllocated);
  CHECK(stack->memory_log.stage == LoggedStage::kFirst);

  CHECK(error_of(kParts + "states: {weights: fp16}\n") ==
        "s.yaml:11:19: error: weights: found fp16, expected fp32 or bf16");
  CHECK(error_of(kParts + "memory_log: {counter: cached}\n").find("counter") != std::string::npos);
  CHECK(error_of(kParts + "data_parallel: {gather_copies: 3}\n").find("gather_copies") != std::string::npos);
  CHECK(error_of(kParts + "data_parallel: {gathered_units: 0}\n").find("gathered_units") !=
        std::string::npos);
}

TEST_CASE("an operator may keep something else under selective recomputation") {
  std::string yaml = kParts;
  const std::string loss = "saves: [output_fp32, stats]";
  yaml.replace(yaml.find(loss), loss.size(), loss + ", selective_saves: [output]");
  const auto stack = stack_of(yaml);
  REQUIRE(stack.has_value());
  CHECK(stack->parts.loss.front().selective_saves == std::vector<SavedTensor>{SavedTensor::kOutput});
  CHECK_FALSE(stack->parts.head.front().selective_saves.has_value());
  yaml.replace(yaml.find("selective_saves: [output]"), 25, "selective_saves: [outputs]");
  CHECK(error_of(yaml).find("selective_saves") != std::string::npos);
}
