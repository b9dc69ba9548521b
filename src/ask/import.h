// What others measured, in our formats: samples, logs of training runs, traces, tables of links.
#pragma once

#include <string>
#include <vector>

#include "base/files.h"
#include "spec/catalog.h"

namespace foretrain {

struct ImportRequest {
  std::string format;              // nccl-tests, published-samples, operator-tables, log, kineto or topo
  std::vector<Source> logs;        // of all but published-samples
  Sources operators, collectives;  // of a published site (published_sources() and its like read them)
  // What a log of nccl-tests may not say itself; words as they were given, empty: not given.
  std::string collective, ranks, ranks_per_node;
  std::string gpu;  // of a topo, which names none: a preset; empty: by its NVLinks

  bool is_published() const { return format == "published-samples"; }
  // What it makes is a folder of files; or it is told, and kineto writes files where it is asked to.
  bool needs_folder() const { return format != "log" && format != "kineto" && format != "topo"; }
  bool may_write() const { return format != "log" && format != "topo"; }
  std::size_t most_bytes() const;  // of a file of its logs
};

struct ImportAnswer {
  std::vector<OutputFile>
      files;  // collectives.csv, operators.csv, timeline.csv, or GPU.csv and GPU/operators.csv for each GPU
  std::string text;  // what was taken from where, and what was left out
  std::string json;  // the same for programs; empty where a format has no such form
};

// All that can be wrong with the words, before anything is read.
Result<void> check(const ImportRequest& request);
Result<ImportAnswer> ask(const Catalog& catalog, const ImportRequest& request);

}  // namespace foretrain
