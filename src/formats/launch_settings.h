// What a launch has to state, in the words of facts.h, until each of it has been stated: by a row of the format's table, read
// from our side to theirs; by other keys that mean the same; or because the framework does so by itself.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/key_table.h"
#include "formats/settings.h"

namespace foretrain {

class Statements {
 public:
  struct Statement {
    std::string key, value;
    bool own = false;  // what the framework does where nobody says
    bool made = false;
  };

  void add(std::string_view key, std::string_view value, bool own = false);
  bool has(std::string_view key) const;
  std::string value(std::string_view key) const;  // empty: not there, or made
  bool is(std::string_view key, std::string_view value) const {
    return has(key) && this->value(key) == value;
  }
  // Made by other means; its value.
  std::string take(std::string_view key);
  // Made where it says this: the framework has no other way.
  void accept(std::string_view key, std::string_view value);

  const std::vector<Statement>& all() const { return all_; }
  // What nothing has stated and is not done unasked.
  std::vector<Statement> left() const;

 private:
  Statement* find(std::string_view key);
  const Statement* find(std::string_view key) const;
  std::vector<Statement> all_;
};

// Of a flag that is not given the other value holds; a key of a tree or an override may be false.
enum class Form : unsigned char { kFlags, kValues };

// In the order of the table's rows: those of KeyUse::kBoth that a statement goes by.
Settings settings_of(std::span<const KeyRow> rows, Statements& statements, Form form);

}  // namespace foretrain
