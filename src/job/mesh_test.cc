#include "job/mesh.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <vector>

namespace foretrain {
namespace {

using Ranks = std::vector<std::int64_t>;

TEST_CASE("tp=4 dp=8 pp=4: 4 neighbours, 8 ranks 4 apart, stages of 32") {
  const Mesh mesh{.tp = 4, .dp = 8, .pp = 4};
  CHECK(mesh.gpus() == 128);
  CHECK(mesh.stage_ranks() == 32);
  CHECK(mesh.data_ranks() == 8);
  CHECK(mesh.group(GroupKind::kTensor) == Group{.size = 4, .stride = 1});
  CHECK(mesh.group(GroupKind::kContext) == Group{.size = 1, .stride = 4});
  CHECK(mesh.group(GroupKind::kData) == Group{.size = 8, .stride = 4});
  // Rank 0 sends to rank 32; ranks 0 and 96 have the ends of one copy of the model, {0..3, 32..35, ...}.
  CHECK(mesh.group(GroupKind::kPipeline) == Group{.size = 2, .stride = 32, .pairs = true});
  CHECK(mesh.group(GroupKind::kEmbedding) == Group{.size = 2, .stride = 96, .pairs = true});
  CHECK(mesh.group(GroupKind::kModel) == Group{.size = 4, .times = 4, .apart = 32});
  CHECK(mesh.group(GroupKind::kModel).ranks() == 16);
}

TEST_CASE("context ranks hold the same weights as data ranks do, and lie closer") {
  const Mesh mesh{.tp = 2, .cp = 4, .dp = 3};
  CHECK(mesh.data_ranks() == 12);
  CHECK(mesh.stage_ranks() == 24);
  CHECK(mesh.group(GroupKind::kContext) == Group{.size = 4, .stride = 2});
  CHECK(mesh.group(GroupKind::kData) == Group{.size = 12, .stride = 2});
}

TEST_CASE("ZeRO divides among all data ranks, or among neighbours of which there are several sets") {
  const Mesh all{.tp = 2, .dp = 16};
  CHECK(all.shards() == 16);
  CHECK(all.replicas() == 1);
  CHECK(all.group(GroupKind::kShard) == all.group(GroupKind::kData));
  CHECK(all.group(GroupKind::kReplica).ranks() == 1);
  // {0, 2, 4, 6} share one copy, {0, 8, 16, 24} hold the same quarter of it.
  const Mesh some{.tp = 2, .dp = 16, .shard = 4};
  CHECK(some.replicas() == 4);
  CHECK(some.group(GroupKind::kShard) == Group{.size = 4, .stride = 2});
  CHECK(some.group(GroupKind::kReplica) == Group{.size = 4, .stride = 8});
}

TEST_CASE("experts are laid out on their own: expert tensor ranks fastest, then experts, then their data") {
  // 16 ranks of a stage; attention has tensor pairs, experts have none.
  const Mesh mesh{.tp = 2, .dp = 8, .ep = 4};
  CHECK(mesh.group(GroupKind::kExpert) == Group{.size = 4, .stride = 1});
  CHECK(mesh.group(GroupKind::kExpertTensor).ranks() == 1);
  CHECK(mesh.group(GroupKind::kExpertData) == Group{.size = 4, .stride = 4});
  CHECK(mesh.data_ranks(WeightClass::kExperts) == 4);
  CHECK(mesh.data_ranks(WeightClass::kCommon) == 8);
  // With expert tensor pairs, ep ranks lie two apart.
  const Mesh pairs{.tp = 2, .dp = 8, .ep = 4, .etp = 2};
  CHECK(pairs.group(GroupKind::kExpert) == Group{.size = 4, .stride = 2});
  CHECK(pairs.group(GroupKind::kExpertTensor) == Group{.size = 2, .stride = 1});
  CHECK(pairs.group(GroupKind::kExpertData) == Group{.size = 2, .stride = 8});
}

TEST_CASE("experts' weights have as many replicas as others, where their data ranks divide so") {
  // 32 data ranks in 4 replicas; experts on 8 ranks have 4 data ranks: each a replica.
  const Mesh mesh{.dp = 32, .ep = 8, .shard = 8};
  CHECK(mesh.replicas(WeightClass::kCommon) == 4);
  CHECK(mesh.replicas(WeightClass::kExperts) == 4);
  CHECK(mesh.shards(WeightClass::kExperts) == 1);
  const Mesh all{.dp = 32, .ep = 8};
  CHECK(all.shards(WeightClass::kExperts) == 4);
  CHECK(all.group(GroupKind::kExpertShard) == Group{.size = 4, .stride = 8});
  CHECK(all.group(GroupKind::kExpertReplica).ranks() == 1);
}

TEST_CASE("without ep and with expert tensor ranks as all others, experts' groups are everybody's") {
  const Mesh mesh{.tp = 4, .cp = 2, .dp = 8, .pp = 2, .etp = 4, .shard = 4};
  for (const auto& [experts, others] : {std::pair{GroupKind::kExpertData, GroupKind::kData},
                                        {GroupKind::kExpertShard, GroupKind::kShard},
                                        {GroupKind::kExpertReplica, GroupKind::kReplica},
                                        {GroupKind::kExpertTensor, GroupKind::kTensor}})
    CHECK(mesh.group(experts) == mesh.group(others));
}

TEST_CASE("one GPU is in no group of several") {
  for (int kind = 0; kind < kGroupKindCount; ++kind)
    CHECK(Mesh{}.group(static_cast<GroupKind>(kind)).ranks() == 1);
}

TEST_CASE("a plan that states all its data ranks as shards has the mesh of one that leaves them open") {
  Plan plan;
  plan.tp = 2;
  plan.cp = 2;
  plan.dp = 4;
  const Mesh open = mesh_of(plan);
  CHECK(open == Mesh{.tp = 2, .cp = 2, .dp = 4, .etp = 2});
  plan.shard = 8;
  CHECK(mesh_of(plan) == open);
  plan.shard = 4;
  CHECK(mesh_of(plan).replicas() == 2);
}

// Every group of a kind, straight from the meaning of the coordinates; those of one rank as well.
std::vector<Ranks> by_coordinates(GroupKind kind, const Mesh& m) {
  const auto rank = [&](std::int64_t t, std::int64_t c, std::int64_t d, std::int64_t p) {
    return t + m.tp * (c + m.cp * (d + m.dp * p));
  };
  std::map<std::vector<std::int64_t>, Ranks> groups;
  for (std::int64_t x = 0; x < m.tp * m.cp * m.dp * m.pp; ++x) {
    const std::int64_t t = x % m.tp, c = x / m.tp % m.cp, d = x / (m.tp * m.cp) % m.dp,
                       p = x / (m.tp * m.cp * m.dp);
    const std::int64_t expert_ranks = m.ep * m.etp,
                       expert_data = x / expert_ranks % (m.tp * m.cp * m.dp / expert_ranks);
    const std::int64_t data = c + m.cp * d, shards = m.shard > 0 ? m.shard : m.cp * m.dp;
    switch (kind) {
      case GroupKind::kTensor:
        groups[{c, d, p}].push_back(x);
        break;
      case GroupKind::kContext:
        groups[{t, d, p}].push_back(x);
        break;
      case GroupKind::kContextInner:
        groups[{t, c / m.cp_a2a, d, p}].push_back(x);
        break;
      case GroupKind::kContextRing:
        groups[{t, c % m.cp_a2a, d, p}].push_back(x);
        break;
      case GroupKind::kData:
        groups[{t, p}].push_back(x);
        break;
      case GroupKind::kModel:
        groups[{c, d}].push_back(x);
        break;
      case GroupKind::kExpert:
        groups[{x % m.etp, x / (m.etp * m.ep)}].push_back(x);
        break;
      case GroupKind::kExpertTensor:
        groups[{x / m.etp}].push_back(x);
        break;
      case GroupKind::kExpertData:
        groups[{x % expert_ranks, p}].push_back(x);
        break;
      case GroupKind::kExpertShard:
        groups[{x % expert_ranks, expert_data / m.shards(WeightClass::kExperts), p}].push_back(x);
        break;
      case GroupKind::kExpertReplica:
        groups[{x % expert_ranks, expert_data % m.shards(WeightClass::kExperts), p}].push_back(x);
        break;
      case GroupKind::kShard:
        groups[{t, data / shards, p}].push_back(x);
        break;
      case GroupKind::kReplica:
        groups[{t, data % shards, p}].push_back(x);
        break;
      case GroupKind::kPipeline:
        if (p + 1 < m.pp) groups[{x}] = {x, rank(t, c, d, p + 1)};
        break;
      case GroupKind::kEmbedding:
        if (p == 0 && m.pp > 1) groups[{x}] = {x, rank(t, c, d, m.pp - 1)};
        break;
    }
  }
  std::vector<Ranks> all;
  for (auto& [key, members] : groups) all.push_back(members);
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<Ranks> by_strides(const Group& group, std::int64_t gpus) {
  std::vector<Ranks> all;
  if (group.pairs) {
    for (std::int64_t x = 0; group.size > 1 && x + group.stride < gpus; ++x)
      all.push_back({x, x + group.stride});
    return all;
  }
  std::vector<int> taken(static_cast<std::size_t>(gpus), 0);
  for (std::int64_t first = 0; first < gpus; ++first) {
    if (taken[static_cast<std::size_t>(first)] > 0) continue;
    Ranks& members = all.emplace_back();
    for (std::int64_t j = 0; j < group.times; ++j)
      for (std::int64_t i = 0; i < group.size; ++i) {
        members.push_back(first + i * group.stride + j * group.apart);
        RC_ASSERT(members.back() < gpus);
        RC_ASSERT(++taken[static_cast<std::size_t>(members.back())] == 1);
      }
  }
  return all;
}

std::int64_t any_divisor(std::int64_t n) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t d = 1; d <= n; ++d)
    if (n % d == 0) divisors.push_back(d);
  return *rc::gen::elementOf(divisors);
}

TEST_CASE("the groups of a kind hold every rank once, as the coordinates say") {
  CHECK(rc::check([] {
    const auto size = rc::gen::inRange<std::int64_t>(1, 9);
    Mesh mesh{.tp = *size, .cp = *rc::gen::inRange<std::int64_t>(1, 5), .dp = *size, .pp = *size};
    mesh.ep = any_divisor(mesh.stage_ranks());
    mesh.etp = any_divisor(mesh.stage_ranks() / mesh.ep);
    mesh.cp_a2a = any_divisor(mesh.cp);
    mesh.shard = *rc::gen::arbitrary<bool>() ? any_divisor(mesh.data_ranks()) : 0;
    for (int kind = 0; kind < kGroupKindCount; ++kind) {
      const auto group = static_cast<GroupKind>(kind);
      RC_ASSERT(by_strides(mesh.group(group), mesh.gpus()) == by_coordinates(group, mesh));
    }
  }));
}

}  // namespace
}  // namespace foretrain
