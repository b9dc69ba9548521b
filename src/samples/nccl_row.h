// A row of a table of nccl-tests, by the words of its header. Versions differ in columns, and a test without an
// operation leaves the cell of `redop` blank, so that a row has a word less than its header.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "samples/nccl_line.h"

namespace foretrain {

// Where the words of a header stand; a time stamp is two words of a row.
struct NcclColumns {
  std::size_t count = 0;
  std::vector<std::string> names;
  std::size_t size = 0, time = 0, algbw = 0, busbw = 0, wrong = 0,
              cv = 0;                                       // cv, wrong: 0 where there is none
  std::size_t elements = 0, type = 0, redop = 0, root = 0;  // likewise
  bool is_host_time = false;
};

// None where the words are no header of a table.
std::optional<NcclColumns> nccl_columns(const std::vector<NcclWord>& words);

struct NcclNumber {
  double value = 0;
  bool is_known = true;  // false: N/A
  double rounding = 0;
};

// A row's figures, out of place.
struct NcclRow {
  double size = 0;
  NcclNumber time, algbw, busbw, wrong, cv;
  double elements = 0;        // 0: no such column
  std::string type;           // "float"; empty where there is none
  bool is_reduction = false;  // of an operation such as sum
  double root = -1;           // -1: none
};

// How many cells are blank that may be; none where the row is too long or too short for its header.
std::optional<std::size_t> nccl_blank_cells(const std::vector<NcclWord>& words, const NcclColumns& columns);

// `blank` as nccl_blank_cells says. A cell that is no number is an error in `line` of `file`.
Result<NcclRow> nccl_row(const std::vector<NcclWord>& words, const NcclColumns& columns, std::size_t blank,
                         const std::string& file, int line);

// Bytes of an element by the tool's word for its type; none where it is not known.
std::optional<double> nccl_type_bytes(std::string_view type);

}  // namespace foretrain
