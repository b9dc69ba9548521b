// A config.json as its family reads it: our words for what files of many families call by many names, and, where a file
// is silent, what the family's class holds. Which of the two a value is, is remembered: a reader is told what was assumed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"
#include "formats/family.h"

namespace foretrain {

class ConfigKeys {
 public:
  // Refers to both.
  ConfigKeys(const Node& config, const Family& family) : config_(config), family_(family) {}

  // A key of the file as it stands, "attn_config.alibi" inside a map of it; null where absent. A null value is a value.
  const Node* raw(std::string_view their_key) const;
  // The first of the names that files have for our word (see kNames), a null value among them.
  const Node* stated(std::string_view key) const;

  // As the file states it, or as the family has it; none where neither does or the file says null.
  Result<std::optional<std::int64_t>> whole(std::string_view key, std::int64_t high);
  Result<std::optional<double>> real(std::string_view key, double low, double high);
  Result<std::optional<bool>> flag(std::string_view key);
  std::optional<std::string> word(std::string_view key);

  // Flags and numbers of the file that stand for themselves; the default where they are absent or null.
  Result<bool> raw_flag(std::string_view their_key, bool otherwise) const;
  Result<std::int64_t> raw_whole(std::string_view their_key, std::int64_t otherwise) const;

  const Node& config() const { return config_; }
  const Family& family() const { return family_; }
  const std::vector<std::string>& assumed() const { return assumed_; }
  void assume(std::string words) { assumed_.push_back(std::move(words)); }

 private:
  // What holds for `key`: a node of the file, or the family's word; neither: none.
  struct Found {
    const Node* node = nullptr;
    std::string literal;
    bool negated = false;
    bool any() const { return node != nullptr || !literal.empty(); }
  };
  Found find(std::string_view key) const;
  void note(std::string_view key, const Found& found);

  const Node& config_;
  const Family& family_;
  std::vector<std::string> assumed_;
};

}  // namespace foretrain
