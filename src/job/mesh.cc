#include "job/mesh.h"

#include <algorithm>

#include "base/check.h"

namespace foretrain {

Group Mesh::group(GroupKind kind) const {
  CHECK_THAT(tp >= 1 && cp >= 1 && dp >= 1 && pp >= 1 && ep >= 1 && etp >= 1);
  CHECK_THAT(stage_ranks() % expert_ranks() == 0);
  CHECK_THAT(cp_a2a >= 1 && cp % cp_a2a == 0);
  CHECK_THAT(shard >= 0 && data_ranks() % shards() == 0);
  switch (kind) {
    case GroupKind::kTensor:
      return {.size = tp};
    case GroupKind::kContext:
      return {.size = cp, .stride = tp};
    case GroupKind::kContextInner:
      return {.size = cp_a2a, .stride = tp};
    case GroupKind::kContextRing:
      return {.size = cp / cp_a2a, .stride = tp * cp_a2a};
    case GroupKind::kData:
      return {.size = data_ranks(), .stride = tp};
    case GroupKind::kPipeline:
      return {.size = pp > 1 ? 2 : 1, .stride = stage_ranks(), .pairs = true};
    case GroupKind::kEmbedding:
      return {.size = pp > 1 ? 2 : 1, .stride = stage_ranks() * (pp - 1), .pairs = true};
    case GroupKind::kModel:
      return {.size = tp, .times = pp, .apart = stage_ranks()};
    case GroupKind::kExpert:
      return {.size = ep, .stride = etp};
    case GroupKind::kExpertTensor:
      return {.size = etp};
    case GroupKind::kShard:
      return {.size = shards(), .stride = tp};
    case GroupKind::kReplica:
      return {.size = replicas(), .stride = tp * shards()};
    case GroupKind::kExpertData:
      return {.size = data_ranks(WeightClass::kExperts), .stride = expert_ranks()};
    case GroupKind::kExpertShard:
      return {.size = shards(WeightClass::kExperts), .stride = expert_ranks()};
    case GroupKind::kExpertReplica:
      return {.size = replicas(WeightClass::kExperts),
              .stride = expert_ranks() * shards(WeightClass::kExperts)};
  }
  CHECK_THAT(false);
  return {};
}

Mesh mesh_of(const Plan& plan) {
  Mesh mesh{.tp = plan.tp,
            .cp = plan.cp,
            .dp = plan.dp,
            .pp = plan.pp,
            .ep = plan.ep,
            .etp = plan.etp.value_or(plan.tp),
            .cp_a2a = std::max<std::int64_t>(plan.cp_a2a, 1),
            .shard = plan.shard};
  if (mesh.shard == mesh.data_ranks()) mesh.shard = 0;
  return mesh;
}

}  // namespace foretrain
