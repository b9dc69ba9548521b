#include "network/placement.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace foretrain {
namespace {

using std::int64_t;

struct Fabric {
  int64_t gpus;
  int64_t domain;
  int64_t node;
};

// Members first + i * stride + j * outer_stride for i < count, j < outer_count. Groups of a kind lie beside
// and between each other so that together they hold every rank once.
struct Pattern {
  int64_t stride;
  int64_t count;
  int64_t outer_stride;
  int64_t outer_count;

  int64_t ranks() const { return count * outer_count; }
  int64_t inner_reach() const { return (count - 1) * stride; }
  int64_t reach() const { return inner_reach() + (outer_count - 1) * outer_stride; }
  int64_t block() const { return outer_stride * outer_count; }  // whole groups fill whole blocks
};

Pattern progression(int64_t stride, int64_t count) { return {stride, count, stride * count, 1}; }

PlacedGroup inside_one_domain(int64_t ranks) {
  return {.ranks = ranks, .ranks_per_domain = ranks, .fewest_per_domain = ranks};
}

bool one_divides_the_other(int64_t a, int64_t b) { return a % b == 0 || b % a == 0; }

// Adds to `worst` how one group lies, which starts at rank `first` and crosses domains.
void walk(const Pattern& pattern, const Fabric& fabric, int64_t first, PlacedGroup& worst) {
  int64_t domains = 0, domain_end = 0, members = 0, nodes = 0, node_end = 0;
  const auto close_domain = [&] {
    if (domains == 0) return;
    worst.ranks_per_domain = std::max(worst.ranks_per_domain, members);
    worst.fewest_per_domain = std::min(worst.fewest_per_domain, members);
    worst.nodes_per_domain = std::min(worst.nodes_per_domain, nodes);
  };
  for (int64_t j = 0; j < pattern.outer_count; ++j) {
    for (int64_t i = 0; i < pattern.count; ++i) {
      const int64_t rank = first + i * pattern.stride + j * pattern.outer_stride;
      if (rank >= domain_end) {
        close_domain();
        domain_end = (rank / fabric.domain + 1) * fabric.domain;
        node_end = 0;
        ++domains, members = 0, nodes = 0;
      }
      if (rank >= node_end) {
        node_end = (rank / fabric.node + 1) * fabric.node;
        ++nodes;
      }
      ++members;
    }
  }
  close_domain();
  worst.domains = std::max(worst.domains, domains);
}

// Looks at every rank, up to where the layout repeats: for sizes that do not divide each other.
PlacedGroup enumerate(const Pattern& pattern, const Fabric& fabric) {
  int64_t period = std::lcm(fabric.domain, fabric.node);
  if (period < fabric.gpus) period = std::min(fabric.gpus, std::lcm(period, pattern.block()));
  period = std::min(period, fabric.gpus);

  PlacedGroup worst{.ranks = pattern.ranks(),
                    .ranks_per_domain = 0,
                    .fewest_per_domain = pattern.ranks(),
                    .nodes_per_domain = pattern.ranks()};
  int64_t node_begin = 0, sharers = 0;
  for (int64_t rank = 0; rank < period; ++rank) {
    if (rank == node_begin + fabric.node) node_begin = rank, sharers = 0;
    const int64_t i = rank / pattern.stride % pattern.count;
    const int64_t j = rank / pattern.outer_stride % pattern.outer_count;
    const int64_t first = rank - i * pattern.stride - j * pattern.outer_stride;
    if (first / fabric.domain == (first + pattern.reach()) / fabric.domain) continue;
    if (rank == first) walk(pattern, fabric, first, worst);
    const int64_t member_before = i > 0   ? rank - pattern.stride
                                  : j > 0 ? rank - pattern.outer_stride + pattern.inner_reach()
                                          : -1;
    if (member_before < node_begin) worst.sharers = std::max(worst.sharers, ++sharers);
  }
  return worst.domains > 1 ? worst : inside_one_domain(pattern.ranks());
}

PlacedGroup place_progression(int64_t stride, int64_t count, const Fabric& fabric) {
  const int64_t block = stride * count;
  if (count == 1) return {};
  if (fabric.domain % block == 0) return inside_one_domain(count);
  if (stride >= fabric.domain) return {.ranks = count, .domains = count, .sharers = fabric.node};
  if (block % fabric.domain == 0 && fabric.domain % stride == 0 && fabric.domain % fabric.node == 0 &&
      one_divides_the_other(fabric.node, stride)) {
    const int64_t members = fabric.domain / stride;
    return {.ranks = count,
            .domains = block / fabric.domain,
            .ranks_per_domain = members,
            .fewest_per_domain = members,
            .nodes_per_domain = std::min(members, fabric.domain / fabric.node),
            .sharers = std::min(stride, fabric.node)};
  }
  return enumerate(progression(stride, count), fabric);
}

// tp neighbouring ranks in each of pp stages of `stage` ranks.
PlacedGroup place_model(int64_t tp, int64_t stage, int64_t pp, const Fabric& fabric) {
  if (pp == 1) return place_progression(1, tp, fabric);
  const int64_t ranks = tp * pp;
  const auto [gpus, domain, node] = fabric;
  const bool aligned = domain % node == 0 && one_divides_the_other(domain, stage) &&
                       one_divides_the_other(node, stage) && one_divides_the_other(domain, tp) &&
                       one_divides_the_other(node, tp);
  if (!aligned) return enumerate({1, tp, stage, pp}, fabric);

  PlacedGroup placed{.ranks = ranks, .sharers = std::max<int64_t>(1, std::min(node, stage) / tp)};
  if (stage >= domain) {
    const int64_t members = std::min(tp, domain);
    placed.domains = ranks / members;
    placed.ranks_per_domain = placed.fewest_per_domain = members;
    placed.nodes_per_domain = std::max<int64_t>(1, members / node);
    return placed;
  }
  const int64_t stages = domain / stage;  // that a domain holds; the last one perhaps fewer
  const int64_t rest = pp % stages == 0 ? stages : pp % stages;
  placed.domains = (pp + stages - 1) / stages;
  placed.ranks_per_domain = tp * stages;
  placed.fewest_per_domain = tp * rest;
  placed.nodes_per_domain =
      stage >= node ? rest * std::max<int64_t>(1, tp / node) : (rest * stage + node - 1) / node;
  return placed;
}

// Of the ranks begin..end-1, the most that one node holds.
int64_t fullest_node(int64_t begin, int64_t end, int64_t node) {
  const int64_t first_end = std::min(end, (begin / node + 1) * node);
  return std::max(first_end - begin, std::min(end - first_end, node));
}

// Pairs (x, x + stride) for x < count, where stride + count is the number of ranks. With a stride below the
// domain, those that cross are the last before a domain's end; the first domain has as many as any other.
// NICs work both ways at once, so senders and receivers of one direction are counted apart.
PlacedGroup place_pairs(int64_t stride, int64_t count, const Fabric& fabric) {
  const int64_t begin = std::max<int64_t>(0, fabric.domain - stride);
  const int64_t end = stride >= fabric.domain ? count : std::min(count, fabric.domain);
  return {.ranks = 2,
          .domains = 2,
          .sharers = std::max(fullest_node(begin, end, fabric.node),
                              fullest_node(begin + stride, end + stride, fabric.node))};
}

}  // namespace

PlacedGroup place(GroupKind kind, const Layout& layout, const Cluster& cluster) {
  const auto [tp, cp, dp, pp] = layout;
  CHECK_THAT(tp >= 1 && cp >= 1 && dp >= 1 && pp >= 1);
  CHECK_THAT(cluster.gpus_per_node >= 1);
  const int64_t stage = tp * cp * dp;
  const Fabric fabric{.gpus = stage * pp,
                      .domain = std::max(cluster.nvlink_domain, cluster.gpus_per_node),
                      .node = cluster.gpus_per_node};
  const bool one_domain = fabric.gpus <= fabric.domain;
  switch (kind) {
    case GroupKind::kTensor:
      return one_domain ? inside_one_domain(tp) : place_progression(1, tp, fabric);
    case GroupKind::kContext:
      return one_domain ? inside_one_domain(cp) : place_progression(tp, cp, fabric);
    case GroupKind::kData:
      return one_domain ? inside_one_domain(cp * dp) : place_progression(tp, cp * dp, fabric);
    case GroupKind::kPipeline:
      if (pp == 1) return {};
      return one_domain ? inside_one_domain(2) : place_pairs(stage, stage * (pp - 1), fabric);
    case GroupKind::kEmbedding:
      if (pp == 1) return {};
      return one_domain ? inside_one_domain(2) : place_pairs(stage * (pp - 1), stage, fabric);
    case GroupKind::kModel:
      return one_domain ? inside_one_domain(tp * pp) : place_model(tp, stage, pp, fabric);
  }
  CHECK_THAT(false);
  return {};
}

bool boundary_crosses(int64_t stage, int64_t stage_ranks, int64_t domain) {
  CHECK_THAT(stage >= 0 && stage_ranks >= 1 && domain >= 1);
  // Either both stages lie in one domain, or the last pair that begins before a domain's end crosses it.
  return stage * stage_ranks % domain + 2 * stage_ranks > domain;
}

}  // namespace foretrain
