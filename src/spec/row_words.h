// Which measured rows mean a stack though they name another: the words by which their columns and notes tell the way and
// the time in which a framework was run. Stated in the file of the stack that is meant, and no part of the stack itself.
//
//   rows:
//     - {stack: torchtitan, note: torch.compile}
//     - {stack: [megatron, deepspeed], zero: 3, attention: unfused}
//
// All that an entry states must hold; of a list, any one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"
#include "spec/plan.h"

namespace foretrain {

inline constexpr std::string_view kRowsKey = "rows";

struct RowWords {
  std::vector<std::string> stacks;  // that the row names, by name or alias
  std::vector<std::int64_t> zero;   // empty: any
  std::optional<AttentionKind> attention;
  std::string note;   // an item of its notes, or the key of one; empty: any notes
  std::string holds;  // text in the value of that key; empty: any value

  // How much is asked for: of two that fit a row the more particular is meant.
  int conditions() const {
    return static_cast<int>(!zero.empty()) + static_cast<int>(attention.has_value()) +
           static_cast<int>(!note.empty()) + static_cast<int>(!holds.empty());
  }
  bool operator==(const RowWords&) const = default;
};

// Of a stack's file; none where it states none.
Result<std::vector<RowWords>> row_words_of(const Node& file);

// Likewise of a cluster: rows of that stack which name its machine mean this cluster, as the runs of one source saw it.
//   rows: {cluster: aws-p5, stack: nanotron}
struct ClusterWords {
  std::string cluster;
  std::string stack;

  bool operator==(const ClusterWords&) const = default;
};
Result<std::optional<ClusterWords>> cluster_words_of(const Node& file);

}  // namespace foretrain
