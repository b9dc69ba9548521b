// Which stacks a row's own words name, the likeliest first: those whose files say that such a row means them
// (spec/row_words.h), the most particular first, then the framework that it states. Never by source.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "spec/catalog.h"
#include "spec/row_words.h"
#include "validate/measured_row.h"

namespace foretrain {

class StackNames {
 public:
  // The words of every stack that the catalog knows; a file that does not read has none.
  explicit StackNames(const Catalog& catalog);

  std::vector<std::string> named_by(const MeasuredRow& row);

 private:
  Catalog catalog_;
  std::map<std::string, std::string> meant_;  // by what rows call a stack
  std::vector<std::pair<std::string, RowWords>>
      words_;  // the most particular first; stacks by the catalog's names
};

}  // namespace foretrain
