// Names as a list: a line each for people, and for scripts {KIND: [{name, FACT, ...}]}.
//   gpt2         124 M parameters, 12 layers, hidden 768
//   gpt2-medium  355 M parameters, 24 layers, hidden 1024
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace foretrain {

// A name with its facts: keyed for scripts, worded for people.
struct ListEntry {
  std::string name;
  std::vector<std::pair<std::string, std::variant<double, std::string>>> facts;
  std::string line;
};

struct ListReport {
  std::string kind;  // "models"
  std::vector<ListEntry> entries;
};

std::string list_text(const ListReport& report);
std::string list_json(const ListReport& report);

}  // namespace foretrain
