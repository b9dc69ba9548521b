// What a user asks of plans beside being legal:
//   set     tp=8, zero=1,2         these values alone
//   range   pp=1..16               values from one to the other
//   forbid  schedule=gpipe,zb-h2   not these
// Keys and words are those of plans. A dimension that is not searched by itself (attention, the
// dtypes of gradients) is, once values are set. A key of plans that is no dimension at all (lora, base) may be set
// to one value, which every plan then has; `recompute` may name
// modules, joined by + or commas, which is `selective` with these. first_layers and last_layers are those of the end stages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "search/dimension.h"

namespace foretrain {

struct Constraint {
  std::string key;
  std::vector<Value> set;  // empty: all
  std::vector<Value> forbidden;
  std::vector<std::string> set_words, forbidden_words;  // as given
  std::optional<Value> low, high;

  bool allows(Value value) const;
  std::string text() const;  // "set tp=8 forbid tp=4", the fields marked (base/field_mark.h)
};

class Constraints {
 public:
  // Each adds to what is there. "tp=8", "tp=4,8,pp=2", "pp=1..16". Problem: given splits are added to it.
  Result<void> add_set(std::string_view text, Problem& problem);
  Result<void> add_range(std::string_view text, const Problem& problem);
  Result<void> add_forbid(std::string_view text, Problem& problem);

  const Constraint* find(std::string_view key) const;
  Constraints without(std::string_view key) const;
  bool allows(std::string_view key, Value value) const;
  // The ends of a split; true for other values.
  bool allows_ends(const Problem& problem, const Candidate& candidate) const;
  const std::vector<Constraint>& all() const { return constraints_; }

 private:
  Constraint& of(std::string_view key);
  std::vector<Constraint> constraints_;
};

}  // namespace foretrain
