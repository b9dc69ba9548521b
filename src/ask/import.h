// Samples that others took, in our formats.
#pragma once

#include <string>
#include <vector>

#include "base/files.h"

namespace foretrain {

struct ImportRequest {
  std::string format;              // nccl-tests, published-samples or operator-tables
  std::vector<Source> logs;        // of nccl-tests; the tables of operator-tables
  Sources operators, collectives;  // of a published site (published_sources() and its like read them)
  // What a log of nccl-tests may not say itself; words as they were given, empty: not given.
  std::string collective, ranks, ranks_per_node;

  bool is_nccl_tests() const;
  bool is_operator_tables() const;
};

struct ImportAnswer {
  std::vector<OutputFile>
      files;         // collectives.csv, operators.csv, or GPU.csv and GPU/operators.csv for each GPU
  std::string text;  // what was taken from where, and what was left out
};

// All that can be wrong with the words, before anything is read.
Result<void> check(const ImportRequest& request);
Result<ImportAnswer> ask(const ImportRequest& request);

}  // namespace foretrain
