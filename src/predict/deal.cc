#include "predict/deal.h"

#include <algorithm>

#include "memory/counters.h"
#include "memory/states.h"
#include "memory/workspaces.h"

namespace foretrain {

// Where tokens travel beside another micro-batch's work, its forward runs beside a backward, layer by layer: as each layer
// of the one begins to hold, one of the other is released (Megatron Core's TransformerModelChunkSchedulePlan.run: forward
// layer i with backward layer n - 1 - i, whose state goes at once), so that of two micro-batches as much is held as of
// one, and a layer; and both work at a time. The warm-up's one forward more takes the place of that of the first pair.
// DualPipe's order holds both by itself.
static Bytes beside_backward(const ChunkCost& cost) {
  const double layers = static_cast<double>(std::max<std::int64_t>(1, cost.chunk.all_layers()));
  return cost.bytes.held / layers + cost.bytes.forward_extra - cost.bytes.gathered -
         cost.bytes.shared_buffers;
}

void deal_out(const Setting& setting, const Job& job, std::span<const Chunk> layers, const Network& network,
              ChunkMemo& memo, Dealt& e) {
  e.start(job);
  const Pipeline& pipeline = e.job.pipeline;
  const auto pieces = static_cast<std::size_t>(pipeline.pieces()),
             ranks = static_cast<std::size_t>(pipeline.stages);
  memo.use_shape(shape_key(setting, job, network));

  const bool pairs = job.choices.experts.hidden && !runs_both_ways(pipeline.schedule) &&
                     pipeline.schedule != ScheduleKind::kDualpipev;
  e.chunks.assign(pieces, nullptr);
  e.loads.assign(pieces, ChunkLoad{});
  for (std::size_t n = 0; n < pieces; ++n) {
    const auto piece = static_cast<std::int64_t>(n);
    Chunk chunk = layers[n % layers.size()];
    chunk.first = pipeline.first(piece);
    chunk.last = pipeline.last(piece);
    ChunkCost& cost = memo.bytes(chunk);
    e.chunks[n] = &cost;
    ChunkLoad& load = e.loads[n];
    load.held = cost.bytes.held;
    load.held_for_weight = cost.bytes.held_for_weight;
    load.forward_extra = cost.bytes.forward_extra;
    load.backward_extra = std::max(cost.bytes.backward_extra, cost.bytes.backward_growth);
    load.weight_extra = cost.bytes.weight_extra;
    load.backward_end = cost.bytes.backward_end;
    if (pairs) load.backward_extra += beside_backward(cost);
  }

  e.stages.assign(ranks, StageParts{});
  for (std::size_t r = 0; r < ranks; ++r) {
    StageParts& part = e.stages[r];
    for (std::int64_t c = 0; c < pipeline.chunks_per_stage; ++c) {
      const auto n = e.piece(r, c);
      part.share.add(e.chunks[n]->share);
    }
    if (r > 0 && part.share == e.stages[r - 1].share)
      part.states = e.stages[r - 1].states;
    else
      part.states = state_bytes(part.share, setting.stack, job);
    part.states.workspaces =
        workspace_bytes(setting.stack, setting.cluster.gpu, part.share.experts.elements > 0);
  }

  PipelineWork& work = e.work;
  work.chunks = e.loads;
  work.chunks_per_rank = pipeline.chunks_per_stage;
  work.micro_batches = job.micro_batches;
  work.schedule = pipeline.schedule;
  work.blocking_sends = setting.stack.pipeline.blocking;
  work.blocking_receives = setting.stack.pipeline.serial;
  work.reduce_beside = job.choices.overlap_grad_reduce;
}

// Its GPUs are taken to be of the stage that keeps the most there.
static Bytes host_bytes(const Setting& setting, const Dealt& e, std::span<const StageTimes> times) {
  Bytes most;
  for (std::size_t r = 0; r < e.stages.size(); ++r)
    for (std::int64_t c = 0; c < e.job.pipeline.chunks_per_stage; ++c)
      most =
          std::max(most, e.chunks[e.piece(r, c)]->bytes.offloaded * static_cast<double>(times[r].in_flight) +
                             e.stages[r].states.host);
  return most * static_cast<double>(std::min(setting.cluster.gpus_per_node, e.job.mesh.gpus()));
}

void add_bytes(const Setting& setting, Dealt& e) {
  e.timeline.measure(e.work);
  e.counts.assign(e.timeline.chunks().begin(), e.timeline.chunks().end());
  const Bytes outside = outside_torch(e.job.mesh);
  const auto times = e.timeline.stages();
  for (std::size_t r = 0; r < e.stages.size(); ++r) {
    StageParts& part = e.stages[r];
    PassesPeak passes{times[r].peak, Bytes(0), Bytes(0)};
    std::int64_t nodes = 0;
    Bytes captured, pool;
    for (std::int64_t c = 0; c < e.job.pipeline.chunks_per_stage; ++c) {
      const auto n = e.piece(r, c);
      const PassBytes& bytes = e.chunks[n]->bytes;
      passes.largest_block = std::max(passes.largest_block, bytes.largest_block);
      nodes += bytes.graph_nodes;
      captured += bytes.captured;
      pool = std::max(pool, bytes.graph_pool);
      passes.gradients = std::max(passes.gradients, bytes.backward_growth - bytes.backward_extra);
    }
    const GraphChoices& graphs = e.job.choices.graphs;
    // A graph of a layer for each micro-batch in flight; of a step one that holds all.
    const auto copies =
        static_cast<double>(graphs.step ? e.job.micro_batches * e.job.pipeline.chunks_per_stage
                                        : times[r].in_flight) /
        static_cast<double>(e.job.pipeline.chunks_per_stage);
    if (graphs.any())
      passes.in_graphs = graphs.step ? passes.bytes : std::min(passes.bytes, captured * copies + pool);
    const Bytes graphs_themselves(static_cast<double>(nodes) * copies * kGraphNodeBytes);
    const Bytes gradient(static_cast<double>(part.share.largest_tensor) * bytes_of(e.job.choices.precision));
    part.memory = memory_counters(part.states, passes, gradient, setting.stack, e.job.micro_batches,
                                  outside + graphs_themselves);
    if (part.states.paged > Bytes(0)) {
      const Bytes room = std::max(Bytes(0), setting.cluster.gpu.usable - part.memory.total);
      part.paged_out = std::max(Bytes(0), part.states.paged - room);
      part.memory.total += part.states.paged - part.paged_out;
    }
    if (part.memory.needed > e.stages[e.worst_stage].memory.needed) e.worst_stage = r;
  }
  e.host = host_bytes(setting, e, times);
}

}  // namespace foretrain
