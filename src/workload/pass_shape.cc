#include "workload/pass_shape.h"

namespace foretrain {

PassShape pass_shape(const Job& job) {
  const Choices& choices = job.choices;
  PassShape shape;
  shape.tp = job.mesh.tp;
  shape.ep = job.mesh.ep;
  shape.etp = job.mesh.etp;
  shape.experts = choices.experts;
  shape.context = choices.context;
  shape.adapters = choices.adapters;
  shape.graphs = choices.graphs;
  shape.sp = choices.sp;
  shape.micro_batch = job.micro_batch;
  shape.seq = job.seq;
  shape.spans = job.spans;
  shape.recompute = choices.recompute;
  shape.attention = choices.attention;
  shape.attention_kernel = choices.attention_kernel;
  shape.expert_products = choices.expert_products;
  shape.precision = choices.precision;
  shape.low = choices.low;
  shape.partition_activations = job.partitions_activations();
  shape.dropout = choices.dropout;
  shape.accumulates = job.micro_batches > 1;
  shape.sp_gather_again = job.gathers_again();
  shape.tp_overlap = choices.tp_overlap;
  shape.recompute_layers = choices.recompute_layers;
  shape.modules = choices.modules;
  shape.loss = choices.loss;
  shape.mlp_chunks = choices.mlp_chunks;
  shape.offload = choices.offload;
  shape.stores_activation = choices.stores_activation;
  shape.grad_dtype = choices.grad_dtype;
  shape.units = choices.sharding.units;
  return shape;
}

}  // namespace foretrain
