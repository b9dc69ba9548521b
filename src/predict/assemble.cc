#include "predict/assemble.h"

#include <algorithm>

#include "predict/traffic.h"
#include "predict/uncertainty.h"

namespace foretrain {
namespace {

// Where the busiest stage's seconds go, and who says so.
void add_breakdown(const Simulated& e, Prediction& p) {
  const auto cause = [&](StepCause which) -> Seconds& {
    return p.breakdown[static_cast<std::size_t>(which)];
  };
  const StagePace& busiest = e.paces[e.busiest];
  const StageTimes& t = e.times()[e.busiest];
  e.for_each_segment(e.busiest, [&](const AtClock& segment, double n) {
    // The first causes of a step are those of a segment, in the same order.
    for (std::size_t i = 0; i < kCauseCount; ++i) p.breakdown[i] += segment.by_cause(i) * n;
    for (std::size_t i = 0; i < kOperatorKindCount; ++i) p.operators[i] += segment.by_operator(i) * n;
    for (std::size_t i = 0; i < kOriginCount; ++i) p.origin_shares[i] += segment.by_origin(i).value * n;
  });
  for (std::int64_t c = 0; c < e.job.pipeline.chunks_per_stage; ++c) {
    const ChunkCost& cost = *e.chunks[e.piece(e.busiest, c)];
    cause(StepCause::kExpertParallel) +=
        (cost.forward_unpaired + cost.backward_unpaired) *
        (e.unpaired(e.busiest) / static_cast<double>(e.job.pipeline.chunks_per_stage));
  }
  const AtClock optimizer(*busiest.optimizer, busiest.stretch);
  for (std::size_t i = 0; i < kOperatorKindCount; ++i) p.operators[i] += optimizer.by_operator(i);
  for (std::size_t i = 0; i < kOriginCount; ++i) p.origin_shares[i] += optimizer.by_origin(i).value;
  const RankTraffic traffic = traffic_of(e, e.busiest);
  cause(StepCause::kPipelineSend) = t.sending;
  cause(StepCause::kBubble) = t.pipeline_end - t.compute - t.sending;
  cause(StepCause::kGradientReduce) = t.reduce_end - t.pipeline_end;
  cause(StepCause::kOptimizer) = e.updates[e.busiest].optimizer;
  cause(StepCause::kParameterGather) = e.updates[e.busiest].gather;
  cause(StepCause::kEmbeddingExchange) = t.exchange;
  Seconds known;
  for (Seconds& s : p.breakdown) known += s = std::max(Seconds(0), s);  // differences round below zero
  cause(StepCause::kStageWait) = std::max(Seconds(0), e.step - known);
  for (const NetworkTime& time : traffic.all())
    for (std::size_t i = 0; i < kOriginCount; ++i) p.origin_shares[i] += time.by_origin[i].value;
  double origin_sum = 0;
  for (const double share : p.origin_shares) origin_sum += share;
  for (double& share : p.origin_shares) share /= origin_sum > 0 ? origin_sum : 1;
}

// What the passes' peak of a rank consists of.
void describe_peak(const Simulated& e, std::size_t rank, StagePrediction& stage) {
  const StageTimes& times = e.times()[rank];
  stage.moment = times.moment;
  Bytes rest = times.peak;
  for (std::int64_t c = 0; c < e.job.pipeline.chunks_per_stage; ++c) {
    const auto n = e.piece(rank, c);
    const PassBytes& bytes = e.chunks[n]->bytes;
    const auto held = static_cast<double>(e.timeline.held_at_peak()[n]);
    for (std::size_t k = 0; k < kOperatorKindCount; ++k) stage.saved[k] += bytes.saved[k] * held;
    const Bytes waiting = bytes.held_for_weight * static_cast<double>(e.timeline.waiting_at_peak()[n]);
    stage.waiting += waiting;
    rest -= bytes.held * held + waiting;
  }
  if (!times.moment.at_end) {
    const PassBytes& bytes = e.chunks[static_cast<std::size_t>(times.moment.piece)]->bytes;
    stage.gathered = std::min(rest, bytes.gathered);
    stage.shared_buffers = std::min(rest - stage.gathered, bytes.shared_buffers);
  }
  stage.working = std::max(Bytes(0), rest - stage.gathered - stage.shared_buffers);
  stage.peak_in_step = stage.states.total() + stage.states.in_step() >= stage.memory.allocated;
}

StagePrediction stage_prediction(const Simulated& e, std::size_t rank, const PowerModel* power) {
  const StageParts& part = e.stages[rank];
  const double stretch = e.paces[rank].stretch;
  const StageTimes& times = e.times()[rank];
  StagePrediction stage;
  for (std::int64_t c = 0; c < e.job.pipeline.chunks_per_stage; ++c) {
    const std::size_t n = e.piece(rank, c);
    const ChunkCost& cost = *e.chunks[n];
    stage.layers += cost.chunk.all_layers();
    const auto duration = [&](const Segment& segment) { return AtClock(segment, stretch).duration(); };
    stage.forward += duration(cost.forward);
    stage.backward +=
        e.counts[n].whole > 0 ? duration(cost.backward) : duration(cost.input) + duration(cost.weight);
  }
  if (power != nullptr) stage.clock_mhz = power->reference_mhz / stretch;
  stage.trained = part.share.elements;
  stage.parameters = stage.trained + part.share.frozen.elements[WeightClass::kCommon] +
                     part.share.frozen.elements[WeightClass::kExperts];
  stage.paged_out = part.paged_out;
  stage.busy = times.compute + times.sending;
  stage.idle = std::max(Seconds(0), times.pipeline_end - stage.busy);  // a difference rounds below zero
  stage.in_flight = times.in_flight;
  stage.states = part.states;
  stage.activations = times.peak;
  stage.memory = part.memory;
  describe_peak(e, rank, stage);
  return stage;
}

// Of one replica's step.
Flops model_flops(const Simulated& e) {
  Flops sum;
  for (std::size_t r = 0; r < e.stages.size(); ++r)
    for (std::int64_t c = 0; c < e.job.pipeline.chunks_per_stage; ++c)
      sum += e.chunks[e.piece(r, c)]->model_flops * static_cast<double>(e.per_chunk);
  return sum;
}

}  // namespace

Prediction assemble(const Setting& setting, const PowerModel* power, const Simulated& e) {
  const Cluster& cluster = setting.cluster;
  const Job& job = e.job;
  const double gpus = static_cast<double>(job.mesh.gpus());

  Prediction p;
  p.uncertain = uncertainty(e, cluster.gpu.usable);
  p.step = {e.step.value, relative_spread(p.uncertain, e.step), Origin::kAnalytic, spread_above(p.uncertain)};
  p.typical = e.step;
  if (cluster.jitter) {
    const auto nodes = (static_cast<std::int64_t>(gpus) + cluster.gpus_per_node - 1) / cluster.gpus_per_node;
    Timeline drawn;  // ours still holds the undisturbed step
    p.jitter = drawn_steps(e.work, e.step, *cluster.jitter, nodes, job.mesh.stage_ranks(), drawn);
    p.typical = p.jitter->median;
  }
  p.tokens_per_s_per_gpu = static_cast<double>(job.global_batch * job.seq) / (e.step.value * gpus);
  p.params = parameters(setting.model);
  p.frozen = job.choices.adapters.frozen();
  p.trained = p.params;
  if (p.frozen) {
    Chunk whole = all_layers_of(setting.model);
    whole.first = whole.last = true;
    p.trained = parameter_share(setting.model, setting.stack, {}, whole, true, job.choices.adapters).elements;
  }
  for (const StageParts& part : e.stages) p.loading = std::max(p.loading, part.states.loading);
  p.usable = cluster.gpu.usable;
  const MemoryCounters& worst = e.stages[e.worst_stage].memory;
  p.peak = worst.total;
  p.peak_reserved = worst.reserved;
  p.peak_allocated = worst.allocated;
  p.needed = worst.needed;
  p.worst_stage = static_cast<std::int64_t>(e.worst_stage);
  p.fit_probability = fit_probability(p.needed, p.usable, setting.stack.described);
  p.fits = p.fit_probability >= kFitsFrom;
  p.busiest_stage = static_cast<std::int64_t>(e.busiest);
  p.host = e.host;
  add_breakdown(e, p);
  for (std::size_t r = 0; r < e.stages.size(); ++r) p.stages.push_back(stage_prediction(e, r, power));
  p.mfu = model_flops(e).value * static_cast<double>(job.mesh.stage_ranks()) /
          (e.step.value * gpus * cluster.gpu.rate(job.choices.precision).value);
  return p;
}

}  // namespace foretrain
