#include "predict/evaluator.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "cost/analytic.h"
#include "predict/uncertainty.h"

namespace foretrain {
namespace {

void mix(std::uint64_t& h, std::int64_t value) {
  h = (h ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15ull;
  h ^= h >> 29;
}

// Products and attention as the model defines them, whatever implements them: recomputed tasks and pointwise
// work left out, flash attention's backward without the scores that it makes again (four products of five),
// and of unfused attention's full squares the half that the causal mask keeps.
Flops model_flops(const ChunkWork& work) {
  Flops sum;
  for (const Pass* pass : {&work.forward, &work.backward})
    for (const Repeat& repeat : pass->repeats)
      for (const Task& task : repeat.tasks) {
        if (task.kind != Task::Kind::kOperator || task.recompute) continue;
        double useful = 1.0;
        if (task.op.kind == OperatorKind::kBatchedProduct) useful = 0.5;
        if (task.op.kind == OperatorKind::kAttention && task.op.pass == PassKind::kBackward) useful = 0.8;
        sum += flops(task.op) * (useful * static_cast<double>(task.times * repeat.count));
      }
  return sum;
}

}  // namespace

std::size_t Evaluator::ChunkKeyHash::operator()(const ChunkKey& key) const noexcept {
  const Choices& c = key.choices;
  std::uint64_t h =
      static_cast<std::uint64_t>(c.recompute) | static_cast<std::uint64_t>(c.attention) << 8 |
      static_cast<std::uint64_t>(c.precision) << 16 | static_cast<std::uint64_t>(c.sp) << 24 |
      static_cast<std::uint64_t>(c.partition_activations) << 25 |
      static_cast<std::uint64_t>(key.chunk.first) << 26 | static_cast<std::uint64_t>(key.chunk.last) << 27 |
      static_cast<std::uint64_t>(key.drained) << 28 | static_cast<std::uint64_t>(key.only_stage) << 29;
  mix(h, c.tp);
  mix(h, c.micro_batch);
  mix(h, key.chunk.layers);
  return h;
}

std::size_t Evaluator::OptimizerKeyHash::operator()(const OptimizerKey& key) const noexcept {
  std::uint64_t h =
      static_cast<std::uint64_t>(key.precision) << 8 | static_cast<std::uint64_t>(key.grad_dtype);
  mix(h, key.elements);
  mix(h, key.owned);
  mix(h, key.tensors);
  return h;
}

Evaluator::Evaluator(Model model, Cluster cluster, Stack stack, std::int64_t seq,
                     std::shared_ptr<const CostSource> costs)
    : model_(std::move(model)),
      cluster_(std::move(cluster)),
      stack_(std::move(stack)),
      seq_(seq),
      costs_(costs ? std::move(costs) : std::make_shared<const AnalyticCost>(cluster_)) {}

const Evaluator::ChunkCost& Evaluator::chunk_cost(const ChunkKey& key, const Network& network) {
  const auto found = chunks_.find(key);
  if (found != chunks_.end()) return found->second;

  const ChunkWork work = build_chunk(model_, stack_, key.choices, key.chunk);
  const auto lay = [&](const Pass& pass, Seconds lead) {
    return lay_out(pass, costs_, network, cluster_.host_launch, lead);
  };
  ChunkCost cost;
  cost.forward = lay(work.forward, Seconds(0));
  cost.backward = lay(work.backward, key.drained ? Seconds(0) : cost.forward.lead);
  if (!key.drained &&
      key.choices.accumulates) {  // a micro-batch in the middle of a step: the lead has settled
    cost.forward = lay(work.forward, cost.backward.lead);
    cost.backward = lay(work.backward, cost.forward.lead);
  }
  cost.bytes = pass_bytes(work);
  cost.share = parameter_share(model_, stack_, key.choices.tp, key.chunk, key.only_stage);
  cost.model_flops = model_flops(work);
  return chunks_.emplace(key, std::move(cost)).first->second;
}

const Segment& Evaluator::optimizer_cost(const OptimizerKey& key, const Network& network) {
  const auto found = optimizers_.find(key);
  if (found != optimizers_.end()) return found->second;
  const Pass pass =
      build_optimizer(stack_, key.precision, key.grad_dtype, key.elements, key.owned, key.tensors);
  return optimizers_.emplace(key, lay_out(pass, costs_, network, cluster_.host_launch, Seconds(0)))
      .first->second;
}

const std::vector<std::int64_t>& Evaluator::layers_of(const Plan& plan) {
  if (!plan.layers_per_stage.empty()) return plan.layers_per_stage;
  auto found = splits_.find(plan.pp);
  if (found == splits_.end())
    found = splits_.emplace(plan.pp, split_layers(model_, stack_.split, plan.pp)).first;
  return found->second;
}

// Everything between the parts and the step that predict() reports and score() does not.
struct Evaluator::Evaluation {
  std::int64_t micro_batches = 0;
  Seconds step;
  std::size_t busiest = 0;
  double spread = 0;
  double send_spread = 0;
  double reduce_spread = 0;
  Bytes worst_allocated, worst_reserved, worst_total;
  std::size_t worst_stage = 0;
};

void Evaluator::make_buckets(const ChunkCost& cost, const Network& network, Bytes grad_bytes,
                             bool reduce_scatter, bool overlap) {
  const auto& ready = cost.backward.ready_before_end;
  const double elements = static_cast<double>(cost.share.elements);
  std::int64_t count = 1;
  if (overlap && stack_.bucket_elements > 0)
    count = static_cast<std::int64_t>(std::ceil(elements / static_cast<double>(stack_.bucket_elements)));
  // Buckets close at layer ends; more of them than layers only adds latency.
  count =
      std::clamp<std::int64_t>(count, 1, std::max<std::int64_t>(1, static_cast<std::int64_t>(ready.size())));
  const Collective share{reduce_scatter ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                         GroupKind::kData, grad_bytes / static_cast<double>(count), true};
  const Seconds seconds = network.cost(share).seconds;
  for (std::int64_t i = 0; i < count; ++i) {
    Seconds before_end(0);
    if (overlap && i + 1 < count) {
      const std::size_t layer =
          static_cast<std::size_t>((i + 1) * static_cast<std::int64_t>(ready.size()) / count);
      before_end = ready[layer - 1];
    }
    buckets_.push_back({before_end, seconds});
  }
}

void Evaluator::evaluate(const Plan& plan, std::int64_t global_batch, Evaluation& out) {
  const auto& layers = layers_of(plan);
  const std::size_t stages = layers.size();
  const Network network(cluster_, Layout{plan.tp, plan.cp, plan.dp, plan.pp});
  out.micro_batches = global_batch / (plan.dp * plan.micro_batch);

  const Dtype grad_dtype = accumulation_dtype(plan, stack_);
  const Dtype reduce_dtype = reduction_dtype(plan, stack_);
  const bool sharded = plan.zero >= 1 && plan.dp > 1;
  const bool overlap = plan.overlap_grad_reduce.value_or(stack_.overlap_grad_reduce);

  ChunkKey key;
  key.choices = choices_of(model_, plan, stack_, seq_, out.micro_batches > 1);
  key.tensor = network.placed(GroupKind::kTensor);
  key.drained = plan.pp > 1 && stack_.p2p_blocking;
  key.only_stage = plan.pp == 1;

  // Messages between stages.
  const double activation =
      static_cast<double>(plan.micro_batch * seq_ * model_.hidden) * bytes_of(plan.precision);
  const bool scattered = key.choices.sp || (stack_.p2p_scatter_gather && plan.tp > 1);
  const Bytes message(activation / (scattered ? static_cast<double>(plan.tp) : 1.0));
  const Bytes mask(stack_.p2p_sends_mask ? static_cast<double>(seq_ * seq_) * bytes_of(plan.precision) : 0.0);
  Seconds gather(0);
  if (stack_.p2p_scatter_gather && !key.choices.sp && plan.tp > 1)
    gather = network.cost({CollectiveKind::kAllGather, GroupKind::kTensor, Bytes(activation)}).seconds;
  // Of the slowest boundary, for which the others wait.
  out.send_spread = network.cost({CollectiveKind::kSendReceive, GroupKind::kPipeline, message}).spread;

  work_.assign(stages, StageWork{});
  parts_.assign(stages, StageParts{});
  buckets_.clear();
  for (std::size_t s = 0; s < stages; ++s) {
    StageParts& part = parts_[s];
    const Chunk chunk{layers[s], s == 0, s + 1 == stages};
    if (s > 1 && chunk == key.chunk) {  // inner stages of equal size
      part = parts_[s - 1];
      continue;
    }
    key.chunk = chunk;
    part.cost = &chunk_cost(key, network);
    const ParameterShare& share = part.cost->share;
    const std::int64_t owned = sharded ? (share.elements + plan.dp - 1) / plan.dp : share.elements;
    part.optimizer =
        &optimizer_cost({share.elements, owned, share.tensors, plan.precision, grad_dtype}, network);
    part.states = state_bytes(share, stack_, plan.precision, grad_dtype, plan.zero, plan.dp);
    part.first_bucket = buckets_.size();
    if (plan.dp * plan.cp > 1)
      make_buckets(*part.cost, network, Bytes(static_cast<double>(share.elements) * bytes_of(reduce_dtype)),
                   sharded && stack_.zero_reduce_scatter, overlap);
    part.bucket_count = buckets_.size() - part.first_bucket;
  }
  for (std::size_t s = 0; s < stages; ++s) {
    const StageParts& part = parts_[s];
    const ChunkCost& cost = *part.cost;
    StageWork& work = work_[s];
    work.forward = cost.forward.duration;
    work.backward = cost.backward.duration;
    const auto boundary = static_cast<std::int64_t>(s);  // between this stage and the next
    if (s + 1 < stages) work.send_forward = network.send(boundary, message + mask).seconds + gather;
    if (s > 0) work.send_backward = network.send(boundary - 1, message).seconds + gather;
    work.held = cost.bytes.held;
    work.forward_extra = cost.bytes.forward_extra;
    work.backward_extra = cost.bytes.backward_extra;
    work.buckets = {buckets_.data() + part.first_bucket, part.bucket_count};
    work.optimizer = part.optimizer->duration;
    if (sharded)
      work.gather =
          network
              .cost({CollectiveKind::kAllGather, GroupKind::kData,
                     Bytes(static_cast<double>(cost.share.elements) * bytes_of(plan.precision)), true})
              .seconds;
  }

  PipelineWork pipeline;
  pipeline.stages = work_;
  pipeline.micro_batches = out.micro_batches;
  // One stage has no pipeline: it accumulates gradients, forward and backward in turn.
  pipeline.schedule = stages == 1 ? ScheduleKind::k1f1b : plan.schedule;
  pipeline.blocking_sends = stack_.p2p_blocking;
  if (const std::int64_t shared = parts_.front().cost->share.embedding_elements; shared > 0)
    pipeline.embedding_exchange = network
                                      .cost({CollectiveKind::kAllReduce, GroupKind::kEmbedding,
                                             Bytes(static_cast<double>(shared) * bytes_of(reduce_dtype))})
                                      .seconds;
  // The gradient norm (and, with fp16, whether it overflowed): one number over all ranks of a model.
  pipeline.meet = network.cost({CollectiveKind::kAllReduce, GroupKind::kModel, Bytes(8)}).seconds;
  out.step = timeline_.simulate(pipeline);
  if (plan.dp * plan.cp > 1)
    out.reduce_spread = network.cost({CollectiveKind::kAllReduce, GroupKind::kData, Bytes(1e6)}).spread;

  const Allowance extra = allowance(plan.tp * plan.pp * plan.dp * plan.cp > 1);
  const auto times = timeline_.stages();
  for (std::size_t s = 0; s < stages; ++s) {
    if (times[s].compute + times[s].sending > times[out.busiest].compute + times[out.busiest].sending)
      out.busiest = s;
    const Bytes allocated = allocated_bytes(parts_[s].states, times[s].peak, stack_, out.micro_batches);
    const Bytes reserved = allocated + times[s].peak * extra.fragmentation;
    if (reserved > out.worst_reserved) {
      out.worst_stage = s;
      out.worst_allocated = allocated;
      out.worst_reserved = reserved;
      out.worst_total = reserved + extra.context;
    }
  }
  out.spread = step_spread(out);
}

double Evaluator::step_spread(const Evaluation& e) const {
  const StageParts& part = parts_[e.busiest];
  const StageTimes& times = timeline_.stages()[e.busiest];
  const double m = static_cast<double>(e.micro_batches);
  // The bubble is made of the same passes: it is as uncertain as they are.
  const double stretch =
      times.compute > Seconds(0) ? (times.pipeline_end - times.sending) / times.compute : 1.0;
  SpreadSum sum;
  for (std::size_t k = 0; k < kOperatorKindCount; ++k)
    sum.add((part.cost->forward.uncertain[k] + part.cost->backward.uncertain[k]) * (m * stretch) +
            part.optimizer->uncertain[k]);
  sum.add((part.cost->forward.uncertain_collectives + part.cost->backward.uncertain_collectives) *
          (m * stretch));
  sum.add((part.cost->forward.by_cause[static_cast<std::size_t>(Cause::kLaunch)] +
           part.cost->backward.by_cause[static_cast<std::size_t>(Cause::kLaunch)]) *
          (m * stretch * kLaunchSpread));
  sum.add(times.sending * e.send_spread);
  sum.add((times.reduce_end - times.pipeline_end + work_[e.busiest].gather) * e.reduce_spread);
  return sum.relative(e.step);
}

Score Evaluator::score(const Plan& plan, std::int64_t global_batch) {
  Evaluation e;
  evaluate(plan, global_batch, e);
  return {e.step, e.spread, e.worst_total, e.worst_total <= cluster_.gpu.usable};
}

Prediction Evaluator::predict(const Plan& plan, std::int64_t global_batch) {
  Evaluation e;
  evaluate(plan, global_batch, e);
  const double m = static_cast<double>(e.micro_batches);
  const double gpus = static_cast<double>(plan.tp * plan.pp * plan.dp * plan.cp);
  const auto times = timeline_.stages();

  Prediction p;
  p.step = {e.step.value, e.spread, Origin::kAnalytic};
  p.typical = e.step;
  p.tokens_per_s_per_gpu = static_cast<double>(global_batch * seq_) / (e.step.value * gpus);
  p.params = parameters(model_);
  p.usable = cluster_.gpu.usable;
  p.peak = e.worst_total;
  p.peak_reserved = e.worst_reserved;
  p.peak_allocated = e.worst_allocated;
  p.fits = p.peak <= p.usable;
  p.fit_probability = fit_probability(p.peak, p.usable);
  p.busiest_stage = static_cast<std::int64_t>(e.busiest);

  const auto cause = [&](StepCause which) -> Seconds& {
    return p.breakdown[static_cast<std::size_t>(which)];
  };
  const StageParts& busiest = parts_[e.busiest];
  const StageTimes& t = times[e.busiest];
  for (const Segment* segment : {&busiest.cost->forward, &busiest.cost->backward}) {
    // The first causes of a step are those of a segment, in the same order.
    for (std::size_t i = 0; i < kCauseCount; ++i) p.breakdown[i] += segment->by_cause[i] * m;
    for (std::size_t i = 0; i < kOperatorKindCount; ++i) p.operators[i] += segment->by_operator[i] * m;
    for (std::size_t i = 0; i < kOriginCount; ++i) p.origin_shares[i] += segment->by_origin[i].value * m;
  }
  for (std::size_t i = 0; i < kOperatorKindCount; ++i) p.operators[i] += busiest.optimizer->by_operator[i];
  for (std::size_t i = 0; i < kOriginCount; ++i) p.origin_shares[i] += busiest.optimizer->by_origin[i].value;
  cause(StepCause::kPipelineSend) = t.sending;
  cause(StepCause::kBubble) = t.pipeline_end - t.compute - t.sending;
  cause(StepCause::kGradientReduce) = t.reduce_end - t.pipeline_end;
  cause(StepCause::kOptimizer) = busiest.optimizer->duration;
  cause(StepCause::kParameterGather) = work_[e.busiest].gather;
  cause(StepCause::kEmbeddingExchange) = t.exchange;
  Seconds known;
  for (Seconds& s : p.breakdown) known += s = std::max(Seconds(0), s);  // differences round below zero
  cause(StepCause::kStageWait) = std::max(Seconds(0), e.step - known);
  double origin_sum = 0;
  for (const double share : p.origin_shares) origin_sum += share;
  const auto origin_add = [&](Seconds s) {
    p.origin_shares[static_cast<std::size_t>(Origin::kAnalytic)] += s.value, origin_sum += s.value;
  };
  origin_add(t.sending + cause(StepCause::kGradientReduce) + cause(StepCause::kParameterGather));
  for (double& share : p.origin_shares) share /= origin_sum > 0 ? origin_sum : 1;

  Flops useful;
  const Allowance extra = allowance(gpus > 1);
  for (std::size_t s = 0; s < parts_.size(); ++s) {
    const StageParts& part = parts_[s];
    useful += part.cost->model_flops * m;
    StagePrediction stage;
    stage.layers = layers_of(plan)[s];
    stage.parameters = part.cost->share.elements;
    stage.forward = part.cost->forward.duration;
    stage.backward = part.cost->backward.duration;
    stage.busy = times[s].compute + times[s].sending;
    stage.idle = times[s].pipeline_end - stage.busy;
    stage.in_flight = times[s].in_flight;
    stage.states = part.states;
    stage.activations = times[s].peak;
    stage.allocated = allocated_bytes(part.states, times[s].peak, stack_, e.micro_batches);
    stage.reserved = stage.allocated + times[s].peak * extra.fragmentation;
    stage.total = stage.reserved + extra.context;
    p.stages.push_back(stage);
  }
  p.mfu = useful.value * static_cast<double>(plan.tp * plan.dp * plan.cp) /
          (e.step.value * gpus * cluster_.gpu.rate(plan.precision).value);
  return p;
}

Prediction predict(const Run& run, std::shared_ptr<const CostSource> costs) {
  Evaluator evaluator(run.model, run.cluster, run.stack, run.seq, std::move(costs));
  Prediction prediction = evaluator.predict(run.plan, run.global_batch);
  prediction.assumed = run.assumed;
  return prediction;
}

}  // namespace foretrain
