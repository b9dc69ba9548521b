// Where a group of ranks sits. Ranks fill nodes in order, and a group is an arithmetic progression of ranks,
// or two nested ones (job/group.h). NVLink joins the ranks of one domain (a node, or more, as in an NVL72
// rack: then a whole number of nodes).
//
//   tp=4, dp=8, pp=4 on nodes of 4: a tensor group is one node; a data group has one rank in each of 8
//   nodes, and the 4 data groups of those nodes share their NICs.
//   tp=4, dp=3, pp=2 on nodes of 8: the data group {0, 4, 8} has two ranks in one node and one in the next,
//   where ranks 8..15 belong to eight data groups, four of each stage: 8 sharers.
//
// The groups of one kind are placed alike where sizes divide each other. Where they do not, each figure is
// the worst over those groups that cross domains, since a step waits for the slowest.
#pragma once

#include <cstdint>

#include "job/group.h"
#include "spec/cluster.h"

namespace foretrain {

struct PlacedGroup {
  std::int64_t ranks = 1;
  std::int64_t domains = 1;            // NVLink domains spanned
  std::int64_t ranks_per_domain = 1;   // most members that one domain holds
  std::int64_t fewest_per_domain = 1;  // fewest members in a domain that holds any
  // Of groups that cross domains; 1 otherwise, as no NIC is used:
  std::int64_t nodes_per_domain = 1;  // fewest nodes, in one domain, that hold members: their NICs carry it
  std::int64_t sharers = 1;           // most groups of this kind that use the NICs of one node at once
  std::int64_t leaf_sharers = 0;      // likewise the links above one leaf switch; 0: it stays below its leaf
  std::int64_t leaf_ranks = 0;        // then, most of its ranks that a leaf can hold

  bool crosses_nodes() const { return domains > 1; }
  bool operator==(const PlacedGroup&) const = default;
};

// GPUs that NVLink joins; of a domain of several nodes, those that a job of so many GPUs takes. One that does not fit into
// a domain takes a power of two of each, the last in part, since the sizes of groups mostly are such: jobs of 128 on NVL72
// racks take 64 of each of two, so that a group of 64 costs no NIC, one of 88 takes 64 and 24. Where whole domains alone
// divide a job it takes these: one of 144 takes all of two.
std::int64_t domain_of(const Cluster& cluster);
std::int64_t domain_of(const Cluster& cluster, std::int64_t gpus);

// The groups of a kind, of `gpus` ranks in all. Pairs exchange one message. The steps it takes are bounded by
// the size of a domain and the group's stride and times (progression.h). No allocation.
PlacedGroup place(const Group& group, std::int64_t gpus, const Cluster& cluster);

// Whether groups that a domain could hold whole lie across its end, since their size does not divide what the job takes of
// each domain.
//   16 expert ranks on 144 GPUs of NVL72 racks: the group of ranks 64 to 79 has eight in either rack.
bool straddles(const Group& group, std::int64_t gpus, const Cluster& cluster);

// Nodes below one leaf switch, rounded up to whole NVLink domains; 0: all of them.
std::int64_t nodes_of_a_leaf(const Cluster& cluster);

// Whether any rank of `stage` (from 0, of `stage_ranks` each) and its partner in the next one are in
// different domains. A constant number of steps.
//   8 stages of one rank on nodes of 4: of the seven boundaries only the fourth crosses.
bool boundary_crosses(std::int64_t stage, std::int64_t stage_ranks, std::int64_t domain);

}  // namespace foretrain
