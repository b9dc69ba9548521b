// The dimensions of the space, declared in one table (dimension.cc): a name as in plans, the values that are
// legal after the choices of the dimensions before it, and how a value goes into a plan. A new dimension is a
// new row. Values are whole numbers; those with words (schedule, recompute) count them.
//
//   gpus  tp  pp  cp  cp_type  cp_a2a  dp  ep  etp  micro_batch  schedule  vpp  sp  zero  shard  dispatcher  overlap_dispatch
//   overlap_shared  precision  cuda_graph  attention  grad_dtype  reduce_dtype  optimizer  master_weights
//   sp_gather_again  ...  recompute                                outer: they make a family
//   recompute_layers  partition_activations                        inner, of its parts
//   layers_per_stage  overlap_grad_reduce  overlap_param_gather    inner, of a part's plans
//
// Each family has the product of the inner ones. Its plans are put together of the same layers, those of a part with
// the same bytes; bounds drop families whole, then parts, then plans. dp follows from the others and is there to be
// constrained.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "search/problem.h"

namespace foretrain {

using Value = std::int64_t;
inline constexpr Value kUnset = -1;  // the plan leaves it open: the stack decides

enum class Scope : unsigned char {
  kSearched,  // every legal value
  kAllowed,   // the first value alone, unless constraints allow others: what changes the training itself
};

// Values that are not looked at, "cp > 16", and why.
struct LeftOut {
  std::string values;
  std::string reason;  // fields of requests marked (base/field_mark.h)
};

struct Dimension {
  std::string_view name;
  std::span<const std::string_view> words;  // empty: numbers
  Scope scope = Scope::kSearched;
  bool inner = false;
  // In a fixed order; the first is the plain one. None: no plan goes on from here.
  void (*values)(const Problem& problem, const Candidate& so_far, std::vector<Value>& out) = nullptr;
  void (*put)(const Problem& problem, Candidate& candidate, Value value) = nullptr;
  Value (*get)(const Problem& problem, const Candidate& candidate) = nullptr;
  // The largest value that is looked at unless constraints speak of the dimension, where there are larger ones.
  Value (*most)(const Problem& problem) = nullptr;
  std::string (*why_not_more)(const Problem& problem) = nullptr;
  // All legal values, where constraints name some and `values` leaves out what is seldom of use; null: `values`.
  void (*asked)(const Problem& problem, const Candidate& so_far, std::vector<Value>& out) = nullptr;
  // Of values that stand for something else than a number or one of `words`: by a constraint's word, which may
  // become the problem's own, or the reason why no plan has it; and as a plan has it.
  Result<Value> (*read)(Problem& problem, std::string_view word) = nullptr;
  std::string (*text)(const Candidate& candidate) = nullptr;
  // Of what is looked at only where constraints ask for it: what else there is, and why it is left out.
  std::optional<LeftOut> (*others)(const Problem& problem) = nullptr;
};

// Context ranks with fewer tokens of a sequence are seldom worth it: a search leaves them out unless it is told
// otherwise.
inline constexpr std::int64_t kFewestTokens = 8'192;

std::span<const Dimension> dimensions();  // outer ones first
std::size_t outer_count();
const Dimension* find_dimension(std::string_view name);

// Whether it is layers_per_stage, whose values stand for lists (split_dimension.h).
bool is_split(const Dimension& dimension);

// As plans state it; "unset" where it is left to the stack.
std::string word_of(const Dimension& dimension, const Problem& problem, const Candidate& candidate);

}  // namespace foretrain
