// The keys of --plan for people: what each may be and what it means, from the table of a plan's fields.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foretrain {

struct PlanKey {
  std::string_view key;
  std::string values;                   // "N", "0|1", "none|selective|full", "WORD+WORD"
  std::vector<std::string_view> words;  // where they can be listed
  std::string meaning, besides;         // without the marks of Markdown
};
std::vector<PlanKey> plan_keys();

}  // namespace foretrain
