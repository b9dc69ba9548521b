// Which cluster a row's own words name: one whose file says that rows of such a machine and stack mean it
// (spec/row_words.h), or the one that it states. Never by source.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "spec/catalog.h"
#include "spec/row_words.h"
#include "validate/measured_row.h"

namespace foretrain {

class ClusterNames {
 public:
  // The words of every cluster that the catalog knows; a file that does not read has none.
  explicit ClusterNames(const Catalog& catalog);

  const std::string& named_by(const MeasuredRow& row) const;

 private:
  std::vector<std::pair<std::string, ClusterWords>> words_;  // by the catalog's names
};

}  // namespace foretrain
