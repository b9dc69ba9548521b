// What products with operands in fewer bits launch and keep, counted by hand: a block of Llama 3 8B has the products
// qkv (or q, k, v), projection, gate and up (or both in one) and down.
#include <doctest/doctest.h>

#include "operators/quantise.h"
#include "spec/catalog.h"
#include "spec/plan_text.h"
#include "workload/parameter_share.h"
#include "workload/testing.h"
#include "workload/workload.h"

using namespace foretrain;

namespace {

constexpr std::int64_t kSeq = 8192, kHidden = 4096, kFfn = 14336;

struct Work {
  ChunkWork chunk;
  PassShape shape;
};

// One layer between the ends, on a GPU that multiplies fp8 by rows alone, or takes any layout.
Work work_of(const char* stack_name, const char* plan_text, bool any_layout = false) {
  Plan plan = parse_plan(plan_text).value();
  plan.dp = 1;
  Setting setting{Catalog().model("llama-3-8b").value(), {}, stack(stack_name), kSeq};
  if (any_layout) setting.cluster.gpu.rates[static_cast<std::size_t>(Dtype::kMxfp8)] = teraflops(1);
  const PassShape shape = pass_shape(job_of(setting, plan, plan.micro_batch));
  return {build_chunk(setting.model, setting.stack, shape, Chunk{1, false, false}), shape};
}

struct Casts {
  std::int64_t quantised = 0, copies = 0, scans = 0, transposes = 0;

  bool operator==(const Casts&) const = default;
};

// Tensors cast (with their copies), looked through for a scale, and transposed.
Casts casts(const Pass& pass) {
  Casts sum;
  for (const Repeat& repeat : pass.repeats) {
    if (!repeat.is_layer) continue;
    for (const Task& task : repeat.tasks) {
      if (task.kind != Task::Kind::kOperator) continue;
      if (task.op.kind == OperatorKind::kQuantise) {
        sum.quantised += task.times;
        sum.copies += task.times * task.op.as<QuantiseSizes>().copies;
      }
      if (task.op.kind == OperatorKind::kAmax) sum.scans += task.times;
      if (task.op.kind == OperatorKind::kTranspose) sum.transposes += task.times;
      const bool is_cast = task.op.kind == OperatorKind::kQuantise || task.op.kind == OperatorKind::kAmax ||
                           task.op.kind == OperatorKind::kTranspose;
      if (is_cast) CHECK(task.op.pass == PassKind::kForward);
    }
  }
  return sum;
}

// Formats of a layer's products by pass: forward, to inputs, to weights. All of a pass are in one.
std::array<Dtype, 3> formats(const ChunkWork& work) {
  std::array<Dtype, 3> found{};
  for (const Pass* pass : {&work.forward, &work.backward})
    for (const Repeat& repeat : pass->repeats)
      for (const Task& task : repeat.tasks)
        if (task.kind == Task::Kind::kOperator && task.op.kind == OperatorKind::kLinear)
          found[task.op.pass == PassKind::kForward ? 0
                : task.op.pass == PassKind::kInput ? 1
                                                   : 2] = task.op.dtype;
  return found;
}

double saved(const char* plan) { return saved_bytes(work_of("megatron", plan).chunk.forward).value; }

}  // namespace

TEST_CASE("bf16 casts nothing") {
  const ChunkWork work = work_of("megatron", "precision=bf16").chunk;
  CHECK(casts(work.forward) == Casts{});
  CHECK(casts(work.backward) == Casts{});
  CHECK(formats(work) == std::array{Dtype::kBf16, Dtype::kBf16, Dtype::kBf16});
}

TEST_CASE(
    "Transformer Engine casts each input and each gradient once, both ways; weights wait for the step") {
  // Four inputs, four gradients, each looked through first.
  const ChunkWork current = work_of("megatron", "precision=fp8-current").chunk;
  CHECK(casts(current.forward) == Casts{4, 8, 4, 0});
  CHECK(casts(current.backward) == Casts{4, 8, 4, 0});
  CHECK(formats(current) == std::array{Dtype::kFp8, Dtype::kFp8, Dtype::kFp8});
  // Norms write two of the inputs in fp8 themselves, which are transposed then.
  const ChunkWork delayed = work_of("megatron", "precision=fp8").chunk;
  CHECK(casts(delayed.forward) == Casts{2, 4, 0, 2});
  CHECK(casts(delayed.backward) == Casts{4, 8, 0, 0});
  const ChunkWork blocks = work_of("megatron", "precision=mxfp8").chunk;
  CHECK(casts(blocks.forward) == Casts{4, 8, 0, 0});
  CHECK(casts(blocks.backward) == Casts{4, 8, 0, 0});
  // With the Hadamard transform the two copies are kernels of their own.
  const ChunkWork four = work_of("megatron", "precision=nvfp4").chunk;
  CHECK(casts(four.forward) == Casts{8, 8, 4, 0});
  CHECK(casts(four.backward) == Casts{8, 8, 4, 0});
}

// By Transformer Engine: queries, keys and values in fp8 in place of what the product made and of what was rotated, and
// what attention made in fp8 in place of bf16. 6,144 are made, 5,120 rotated, 4,096 come of attention.
TEST_CASE("attention in fp8 keeps what it reads and makes in fp8") {
  const double less = 2.0 * (6144 + 5120 + 4096) - (6144 + 4096);
  CHECK(saved("precision=fp8-current") - saved("precision=fp8-current,fp8_attention=1") == kSeq * less);
}

// Gate and up, 28,672 elements a token, in one byte in place of two; a cast each way.
TEST_CASE("what swiglu read is kept in fp8 where the plan asks for it") {
  CHECK(saved("precision=bf16") - saved("precision=bf16,fp8_activation_store=1") == 2.0 * kFfn * kSeq);
  const ChunkWork stored = work_of("megatron", "precision=bf16,fp8_activation_store=1").chunk;
  CHECK(casts(stored.forward) == Casts{1, 1, 0, 0});
  CHECK(casts(stored.backward) == Casts{1, 1, 0, 0});
}

TEST_CASE("where fp8 is multiplied in any layout, one copy serves") {
  const ChunkWork current = work_of("megatron", "precision=fp8-current", true).chunk;
  CHECK(casts(current.forward) == Casts{4, 4, 4, 0});
  CHECK(casts(current.backward) == Casts{4, 4, 4, 0});
  // Scales of blocks run along what is summed over, so that rows and columns differ.
  CHECK(casts(work_of("megatron", "precision=mxfp8", true).chunk.forward) == Casts{4, 8, 0, 0});
}

TEST_CASE(
    "torchao casts inputs that products share once, weights in every pass, and both again in the backward") {
  // Inputs of q, k and v, of the projection, of gate and up, of down; seven weights.
  const ChunkWork rows = work_of("torchtitan", "precision=fp8-rowwise").chunk;
  CHECK(casts(rows.forward) == Casts{4 + 7, 4 + 7, 0, 0});
  // Seven gradients by rows and by columns; four inputs and seven weights by columns.
  CHECK(casts(rows.backward) == Casts{14 + 4 + 7, 14 + 4 + 7, 0, 0});
  // Gradients of weights in bf16: nothing is cast for them.
  const ChunkWork wide = work_of("torchtitan", "precision=fp8-rowwise-gw-hp").chunk;
  CHECK(casts(wide.backward) == Casts{7 + 7, 7 + 7, 0, 0});
  CHECK(formats(wide) == std::array{Dtype::kFp8Row, Dtype::kFp8Row, Dtype::kBf16});
}

TEST_CASE("what is kept of a layer: inputs as the copies that weights' gradients take") {
  // In bf16 2 bytes each of the inputs of qkv, projection and fc1 (hidden) and of fc2 (ffn). In fewer bits b of each;
  // what attention made is kept beside, as its backward needs it so.
  const double t = kSeq, h = kHidden, f = kFfn, mx = 1.03125, nv = 0.5625;
  const double bf16 = saved("precision=bf16");
  const auto less = [&](double b) { return t * ((6 * h + 2 * f) - (2 * h + 3 * b * h + b * f)); };
  CHECK(bf16 - saved("precision=fp8-current") == doctest::Approx(less(1)));
  CHECK(bf16 - saved("precision=fp8-delayed") == doctest::Approx(less(1)));
  CHECK(bf16 - saved("precision=mxfp8") == doctest::Approx(less(mx)));
  CHECK(bf16 - saved("precision=nvfp4") == doctest::Approx(less(nv)));
  // torchao keeps the inputs themselves.
  const auto by_titan = [](const char* plan) {
    return saved_bytes(work_of("torchtitan", plan).chunk.forward).value;
  };
  CHECK(by_titan("precision=fp8-rowwise") == by_titan("precision=bf16"));
}

TEST_CASE("activations are gathered in fewer bits, partial sums are not") {
  const auto bytes = [](const char* plan, CollectiveKind kind) {
    double sum = 0;
    const ChunkWork work = work_of("megatron", plan).chunk;
    for (const Pass* pass : {&work.forward, &work.backward})
      for (const Repeat& repeat : pass->repeats)
        for (const Task& task : repeat.tasks)
          if (task.kind == Task::Kind::kCollective && task.collective.kind == kind)
            sum += task.collective.bytes.value;
    return sum;
  };
  using enum CollectiveKind;
  CHECK(bytes("precision=fp8-current,tp=4,sp=1", kAllGather) ==
        doctest::Approx(bytes("precision=bf16,tp=4,sp=1", kAllGather) / 2));
  CHECK(bytes("precision=fp8-current,tp=4,sp=1", kReduceScatter) ==
        bytes("precision=bf16,tp=4,sp=1", kReduceScatter));
  // Of mxfp8 a gradient travels by rows and by columns: of six gathers (two forward, two again for weights, two of
  // gradients) two carry both copies.
  const double one = 2.0 * kSeq * kHidden;
  CHECK(bytes("precision=mxfp8,tp=4,sp=1", kAllGather) == doctest::Approx(one / 2 * 1.03125 * (4 + 2 * 2)));
}

// Elements of a layer's matrices: qkv with eight heads of keys and values, projection, gate, up, down.
constexpr std::int64_t kMatrices = kHidden * (kHidden + 2 * 1024) + kHidden * kHidden + 3 * kHidden * kFfn;

TEST_CASE("layers at the ends stay in bf16") {
  Plan plan = parse_plan("precision=mxfp8,bf16_layers=1-2").value();
  plan.dp = 1;
  const Setting setting{Catalog().model("llama-3-8b").value(), {}, stack("megatron"), kSeq};
  const Job job = job_of(setting, plan, 1);
  Chunk chunk = all_layers_of(setting.model, job.choices.low);
  chunk.first = chunk.last = true;
  const ChunkWork work = build_chunk(setting.model, setting.stack, pass_shape(job), chunk);
  std::int64_t plain = 0, narrow = 0;
  for (const Repeat& repeat : work.forward.repeats)
    if (repeat.is_layer) (casts({{repeat}}).quantised > 0 ? narrow : plain) += repeat.count;
  CHECK(plain == 3);
  CHECK(narrow == 29);
  const ParameterShare share = parameter_share(setting.model, setting.stack, {1}, chunk, true);
  CHECK(share.matrix_elements == 32 * kMatrices);
  CHECK(share.narrow_elements == 29 * kMatrices);
}

// Layers 7 to 9 of ten, of two kinds that alternate, of which the first four and the last two are left: none at first,
// then one of each kind.
TEST_CASE("which layers of a chunk are left hangs on where it lies in the model") {
  LowPrecision low;
  low.formats.forward = Dtype::kFp8;
  low.formats.bf16_layers = {4, 2};
  const std::vector<std::uint8_t> kinds = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
  Chunk chunk;
  chunk.layers = {1, 2};
  chunk.mark_plain(7, 10, kinds, low);
  CHECK(chunk.plain[0] == 1);
  CHECK(chunk.plain[1] == 1);
  chunk.mark_plain(3, 10, kinds, low);
  CHECK(chunk.plain[0] == 0);
  CHECK(chunk.plain[1] == 1);
  chunk.mark_plain(4, 10, {}, low);
  CHECK(chunk.plain == decltype(chunk.plain){});
}

// Of a block's four products two take a gathered input (qkv, up), two make what is scattered (projection, down).
TEST_CASE("one scale over shards: the largest of tensor ranks is taken, twice forward and twice backward") {
  const auto numbers = [](const char* plan, bool backward) {
    const ChunkWork work = work_of("megatron", plan).chunk;
    std::int64_t count = 0;
    for (const Repeat& repeat : (backward ? work.backward : work.forward).repeats)
      for (const Task& task : repeat.tasks)
        if (task.kind == Task::Kind::kCollective && task.collective.kind == CollectiveKind::kAllReduce &&
            repeat.is_layer) {
          CHECK(task.collective.group == GroupKind::kTensor);
          CHECK(task.collective.bytes == Bytes(4));
          count += task.times;
        }
    return count;
  };
  for (const bool backward : {false, true}) {
    CHECK(numbers("precision=fp8-current,tp=4,sp=1", backward) == 2);
    CHECK(numbers("precision=nvfp4,tp=4,sp=1", backward) == 2);
    CHECK(numbers("precision=mxfp8,tp=4,sp=1", backward) == 0);
    CHECK(numbers("precision=fp8-blockwise,tp=4,sp=1", backward) == 0);
    CHECK(numbers("precision=fp8-current", backward) == 0);
  }
}

// Under ZeRO 3 weights travel in fewer bits where they lie so: of a layer's matrices a byte each, of its two norms two.
TEST_CASE("units gather what products take, of a layer that is left what the passes take") {
  const Stack s = stack("megatron");
  const Model model = Catalog().model("llama-3-8b").value();
  const auto bytes = [&](const char* text, const Stack& of, bool is_plain) {
    Plan plan = parse_plan(text).value();
    const PassShape shape = shape_of(model, plan, of, kSeq, true);
    const Chunk chunk = Chunk::of_kind(0, 1, is_plain);
    double sum = 0;
    for (const Repeat& repeat : build_chunk(model, of, shape, chunk).forward.repeats)
      for (const Task& task : repeat.tasks)
        if (task.kind == Task::Kind::kCollective && task.collective.kind == CollectiveKind::kAllGather)
          sum += task.collective.bytes.value;
    return sum;
  };
  const double norms = 2 * 2 * kHidden;
  CHECK(bytes("precision=fp8-current,fp8_params=1,zero=3,dp=8,bf16_layers=1-0", s, false) ==
        kMatrices + norms);
  CHECK(bytes("precision=fp8-current,fp8_params=1,zero=3,dp=8,bf16_layers=1-0", s, true) ==
        2.0 * kMatrices + norms);
  // A frozen base that was loaded in fp8 travels so; adapters of rank 8 beside all seven products in bf16.
  Stack nemo = stack("nemo");
  REQUIRE(nemo.adapters.narrow_base);
  const double with = bytes("precision=fp8-current,lora=8,zero=3,dp=8", nemo, false),
               without = bytes("precision=bf16,lora=8,zero=3,dp=8", nemo, false);
  CHECK(without - with == kMatrices);
}

// A router's matrix is none of those that products take in fewer bits.
TEST_CASE("routers' weights are not cast") {
  const Model model = Catalog().model("mixtral-8x7b").value();
  const ParameterShare share = parameter_share(model, stack("megatron"), {1}, Chunk::of_kind(0, 1), true);
  CHECK(share.matrix_elements - share.narrow_elements == model.hidden * 8);
  CHECK(share.experts.narrow_elements == 8 * 3 * model.hidden * 14336);
}

TEST_CASE("tp_overlap: products beside the collectives of their inputs and outputs, the same ones") {
  struct Sum {
    double bytes = 0;
    std::int64_t collectives = 0, waited = 0, operators = 0, beside = 0;
  };
  const auto sum = [](const char* plan) {
    Sum all;
    const ChunkWork work = work_of("megatron", plan).chunk;
    for (const Pass* pass : {&work.forward, &work.backward})
      for (const Repeat& repeat : pass->repeats)
        for (const Task& task : repeat.tasks) {
          if (!repeat.is_layer) continue;
          if (task.kind == Task::Kind::kCollective) {
            all.bytes += task.collective.bytes.value;
            ++all.collectives;
            all.waited += task.blocking ? 1 : 0;
          } else if (task.kind == Task::Kind::kOperator) {
            ++all.operators;
            all.beside += task.beside ? 1 : 0;
          }
        }
    return all;
  };
  const Sum apart = sum("tp=4,sp=1"), beside = sum("tp=4,sp=1,tp_overlap=1");
  CHECK(apart.bytes == beside.bytes);
  CHECK(apart.collectives == beside.collectives);
  CHECK(apart.operators == beside.operators);
  CHECK(apart.waited == apart.collectives);
  CHECK(beside.waited == 0);
  // Forward all four products, backward the two that a gradient is gathered for.
  CHECK(apart.beside == 0);
  CHECK(beside.beside == 6);
  // Without sp there is nothing to cut in pieces.
  CHECK(sum("tp=4,tp_overlap=1").waited == sum("tp=4").waited);
}
