#include "network/progression.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace foretrain {
namespace {

using std::int64_t;

int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The worst of each figure, over the domains of groups that cross.
class Worst {
 public:
  explicit Worst(int64_t ranks)
      : placed_{
            .ranks = ranks, .ranks_per_domain = 0, .fewest_per_domain = ranks, .nodes_per_domain = ranks} {}

  void add_domain(int64_t members, int64_t nodes) {
    placed_.ranks_per_domain = std::max(placed_.ranks_per_domain, members);
    placed_.fewest_per_domain = std::min(placed_.fewest_per_domain, members);
    placed_.nodes_per_domain = std::min(placed_.nodes_per_domain, nodes);
  }
  void add_group(int64_t domains) { placed_.domains = std::max(placed_.domains, domains); }

  bool any_crosses() const { return placed_.crosses_nodes(); }
  PlacedGroup with_sharers(int64_t sharers) const {
    PlacedGroup placed = placed_;
    placed.sharers = sharers;
    return placed;
  }

 private:
  PlacedGroup placed_;
};

struct Interval {
  int64_t begin, end;
};
int64_t common(Interval a, Interval b) {
  return std::max<int64_t>(0, std::min(a.end, b.end) - std::max(a.begin, b.begin));
}

// Groups with a stride below the domain, in blocks of stride * count ranks: the groups of a block begin at
// its first `stride` ranks.
class Blocks {
 public:
  Blocks(int64_t stride, int64_t count, const Grid& grid)
      : stride_(stride),
        count_(count),
        block_(stride * count),
        reach_(block_ - stride),
        domain_(grid.domain),
        node_(grid.node),
        blocks_(std::min(grid.gpus / block_, domain_ / std::gcd(block_, domain_))),
        repeats_after_(stride_ / std::gcd(stride_, domain_)) {}

  PlacedGroup placed() const {
    Worst worst(count_);
    const int64_t common_begin = std::gcd(block_, domain_);
    // Where the stride divides domain and node, groups side by side are alike.
    const bool side_by_side = repeats_after_ == 1 && (stride_ > node_ || node_ % stride_ == 0);
    const int64_t step = side_by_side ? stride_ : 1;
    if (blocks_ == domain_ / common_begin) {  // blocks begin at every multiple of it
      for (int64_t begin = 0; begin < domain_; begin += common_begin)
        for (int64_t i = 0; i < std::min(stride_, common_begin); i += step) add_group(begin + i, worst);
    } else {
      for (int64_t block = 0; block < blocks_; ++block)
        for (int64_t i = 0; i < stride_; i += step) add_group((block * block_ + i) % domain_, worst);
    }
    return worst.any_crosses() ? worst.with_sharers(sharers()) : inside_one_domain(count_);
  }

  // Blocks that begin alike in a domain begin alike in a node.
  int64_t sharers() const {
    int64_t most = 0, node = -1, users = 0;
    for (int64_t block = 0; block < blocks_; ++block) {
      const int64_t begin = block * block_, end = begin + block_;
      if (begin / domain_ == (end - 1) / domain_) continue;
      for (int64_t at = begin; at < end;) {
        const int64_t next = std::min(end, (at / node_ + 1) * node_);
        if (at / node_ != node) node = at / node_, users = 0;
        users += crossing(begin % domain_, {at - begin, next - begin});
        most = std::max(most, users);
        // Where all groups cross, the nodes inside a block are alike.
        at = next;
        if (reach_ >= domain_ && at % node_ == 0) at += std::max<int64_t>(0, (end - at) / node_ - 1) * node_;
      }
    }
    return most;
  }

 private:
  // `begin`: where in its domain a group begins.
  void add_group(int64_t begin, Worst& worst) const {
    const int64_t last = (begin + reach_) / domain_;
    if (last == 0) return;
    worst.add_group(last + 1);
    const int64_t looked_at = std::min(last, 1 + repeats_after_);  // then inner domains repeat
    int64_t at = begin;                                            // in its domain, the first member
    for (int64_t domain = 0; domain < looked_at; ++domain) {
      const int64_t members = divided_up(domain_ - at, stride_);
      worst.add_domain(members, nodes(at, members));
      at += members * stride_ - domain_;
    }
    const int64_t first = divided_up(last * domain_ - begin, stride_);  // member of the last domain
    worst.add_domain(count_ - first, nodes(begin + first * stride_ - last * domain_, count_ - first));
  }

  int64_t nodes(int64_t first, int64_t members) const {
    if (node_ == domain_) return 1;
    if (stride_ > node_) return members;
    return (first + (members - 1) * stride_) / node_ - first / node_ + 1;
  }

  // Of the groups of a block that begins at `begin` of its domain, those that cross and have members among
  // `ranks` of the block.
  int64_t crossing(int64_t begin, Interval ranks) const {
    const int64_t length = ranks.end - ranks.begin;
    if (reach_ >= domain_) return std::min(stride_, length);
    // A group crosses that begins less than its reach before a domain's end.
    const Interval in_first{std::max<int64_t>(0, domain_ - reach_ - begin),
                            std::min(stride_, domain_ - begin)};
    const Interval in_next{std::max<int64_t>(0, 2 * domain_ - reach_ - begin), stride_};
    Interval touched{0, stride_}, wrapped{0, 0};
    if (length < stride_) {
      touched.begin = ranks.begin % stride_;
      touched.end = std::min(stride_, touched.begin + length);
      wrapped.end = touched.begin + length - touched.end;
    }
    return common(in_first, touched) + common(in_first, wrapped) + common(in_next, touched) +
           common(in_next, wrapped);
  }

  int64_t stride_, count_, block_;
  int64_t reach_;  // from a group's first member to its last
  int64_t domain_, node_;
  int64_t blocks_;         // that begin at different places of a domain
  int64_t repeats_after_;  // domains inside a group
};

// `size` neighbouring ranks, and those again `apart` ranks further on, `times` in all. All or some cross.
class Rows {
 public:
  Rows(const Group& group, const Grid& grid)
      : size_(group.size), apart_(group.apart), times_(group.times), grid_(grid), groups_(apart_ / size_) {
    const int64_t reach = (times_ - 1) * apart_ + size_ - 1;
    // A group that does not cross begins in the first domain, before those that do.
    first_crossing_ = std::max<int64_t>(0, divided_up(grid.domain - reach, size_));
  }

  PlacedGroup placed() const {
    Worst worst(size_ * times_);
    const int64_t alike = grid_.domain / std::gcd(size_, grid_.domain);
    for (int64_t g = first_crossing_; g < std::min(groups_, first_crossing_ + alike); ++g)
      add_group(g, worst);
    return worst.with_sharers(sharers());
  }

  int64_t sharers() const {
    const int64_t node = grid_.node, all = groups_ - first_crossing_;
    if (node >= apart_) return all;
    // What is left of the last node.
    const int64_t rest = grid_.gpus % node;
    int64_t most = rest == 0 ? 1 : crossing({std::max<int64_t>(0, apart_ - rest), apart_});
    for (int64_t row = 0; row < std::min(times_, node / std::gcd(apart_, node)); ++row) {
      // Whole nodes inside a row: those that begin alike within `size` ranks are alike, if all groups cross.
      const int64_t begin = divided_up(row * apart_, node) * node - row * apart_;
      int64_t whole = (apart_ - begin) / node;
      if (first_crossing_ == 0) whole = std::min(whole, size_ / std::gcd(node, size_));
      for (int64_t i = 0; i < whole; ++i)
        most = std::max(most, crossing({begin + i * node, begin + (i + 1) * node}));
      // The node that holds this row's end and the next one's begin.
      const int64_t tail = (row + 1) * apart_ % node;
      if (tail > 0 && row + 1 < times_)
        most = std::max(most, std::min(all, crossing({apart_ - tail, apart_}) + crossing({0, node - tail})));
    }
    return most;
  }

 private:
  void add_group(int64_t group, Worst& worst) const {
    int64_t domains = 0, domain_end = 0, members = 0, nodes = 0, node_end = 0;
    for (int64_t row = 0; row < times_; ++row) {
      int64_t at = group * size_ + row * apart_;
      for (const int64_t end = at + size_; at < end;) {
        if (at >= domain_end) {
          if (domains > 0) worst.add_domain(members, nodes);
          domain_end = (at / grid_.domain + 1) * grid_.domain;
          node_end = 0;
          ++domains, members = 0, nodes = 0;
        }
        const int64_t next = std::min(end, domain_end);
        members += next - at;
        if (next > node_end) {
          const int64_t new_end = divided_up(next, grid_.node) * grid_.node;
          nodes += (new_end - std::max(node_end, at / grid_.node * grid_.node)) / grid_.node;
          node_end = new_end;
        }
        at = next;
      }
    }
    worst.add_domain(members, nodes);
    worst.add_group(domains);
  }

  // Crossing groups with members among `ranks` of a row.
  int64_t crossing(Interval ranks) const {
    const int64_t first = std::max(first_crossing_, ranks.begin / size_);
    return std::max<int64_t>(0, (ranks.end - 1) / size_ - first + 1);
  }

  int64_t size_, apart_, times_;
  Grid grid_;
  int64_t groups_;
  int64_t first_crossing_;  // of the groups
};

}  // namespace

PlacedGroup inside_one_domain(int64_t ranks) {
  return {.ranks = ranks, .ranks_per_domain = ranks, .fewest_per_domain = ranks};
}

PlacedGroup evenly_placed(const Group& group, const Grid& grid) {
  CHECK_THAT(!group.pairs && grid.domain % grid.node == 0 && grid.gpus > grid.domain);
  if (group.times > 1) {
    CHECK_THAT(group.stride == 1 && group.apart % group.size == 0 && group.times * group.apart == grid.gpus);
    return Rows(group, grid).placed();
  }
  const auto [size, stride, times, apart, pairs] = group;
  CHECK_THAT(grid.gpus % (stride * size) == 0);
  if (size == 1) return {};
  if (grid.domain % (stride * size) == 0) return inside_one_domain(size);
  if (stride >= grid.domain) return {.ranks = size, .domains = size, .sharers = grid.node};
  return Blocks(stride, size, grid).placed();
}

int64_t most_sharers(const Group& group, const Grid& grid) {
  if (group.times > 1) return Rows(group, grid).sharers();
  if (group.size == 1 || grid.domain % (group.stride * group.size) == 0) return 0;
  return group.stride >= grid.domain ? grid.node : Blocks(group.stride, group.size, grid).sharers();
}

}  // namespace foretrain
