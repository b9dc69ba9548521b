// Lines of a log as launchers leave them, taken apart: what mpirun, srun or a container runtime put in front
// is dropped ("[1,0]<stdout>:", "0: ", "2025-03-01T10:00:00Z "), and so is the CR of CR LF.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/collective_kind.h"

namespace foretrain {

struct NcclWord {
  std::string_view text;
  int column = 0;  // in the line as it stands in the file, from 1
};

struct NcclLine {
  std::string_view text;  // without what stands in front, trimmed
  int column = 1;         // where it begins
  bool is_comment() const { return text.starts_with('#'); }
  std::vector<NcclWord> words() const;  // of a comment without its first '#'
};

NcclLine nccl_line(std::string_view line);

// A program of nccl-tests: its name as printed, and the collective that it times, where it is one of ours.
struct NcclTest {
  std::string name;
  std::optional<CollectiveKind> kind;
};

// The program named in a line: "mpirun ... ./build/all_reduce_perf -b 8", "all_gather_perf_mpi".
std::optional<NcclTest> nccl_test_in(std::string_view line);

// The collective that a file's name tells of, however it is spelt: "night/AllReduce_2n.log". None where there
// are several.
std::optional<CollectiveKind> collective_in_file_name(std::string_view path);

}  // namespace foretrain
