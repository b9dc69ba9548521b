// What a configuration says of a run, in our words: sizes of a model (docs/formats/model.md), keys of a plan as "plan.tp",
// and of the run itself (seq, global_batch, gpus, nodes, gpus_per_node, dp, accumulation, stack, model). Two
// statements that differ are a contradiction, which is told; the later one holds.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace foretrain {

class Facts {
 public:
  struct Stated {
    std::string value, by;  // by which key of the file
    Position at;
  };

  void set(std::string_view key, std::string_view value, std::string_view by, const Position& at = {});
  // Where nothing is stated yet.
  void set_usual(std::string_view key, std::string_view value);
  void erase(std::string_view key) { stated_.erase(std::string(key)); }

  bool has(std::string_view key) const { return stated_.contains(std::string(key)); }
  std::string word(std::string_view key, std::string_view otherwise = {}) const;
  // None where it is absent or no whole number; underscores between digits are allowed, as Python has them.
  std::optional<std::int64_t> whole(std::string_view key) const;
  bool flag(std::string_view key) const { return word(key) == "true"; }
  const std::map<std::string, Stated>& all() const { return stated_; }

  void assume(std::string words);
  // What was noted as not modelled is nothing to this run.
  void forget_not_modelled(std::string_view key) {
    std::erase_if(not_modelled, [&](const auto& noted) { return noted.first == key; });
  }
  void contradict(std::string words) { contradictions.push_back(std::move(words)); }

  std::vector<std::string> unknown;                               // keys that no table knows
  std::vector<std::pair<std::string, std::string>> not_modelled;  // keys, and what they change: time, memory
  std::vector<std::string> contradictions, assumed;

 private:
  std::map<std::string, Stated> stated_;
};

// Of at most 1e15, so that sums and small multiples of several are numbers too.
std::optional<std::int64_t> whole_word(std::string_view word);

// The largest number where it is larger: what a file states may be anything.
std::int64_t product(std::initializer_list<std::int64_t> factors);

}  // namespace foretrain
