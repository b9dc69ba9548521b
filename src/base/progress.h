// A line on a terminal that says how far long work has come, drawn over itself and wiped at the end:
//   fitting  [############............]   50 %  1,200 of 2,400 samples, 310/s, 3.9 s left
// Where the stream is no terminal nothing is written.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

#include "base/units.h"

namespace foretrain {

// The line itself. Rate and time left are told once something is done in a measurable time.
std::string progress_line(std::string_view what, std::string_view unit, std::size_t done, std::size_t all,
                          Seconds elapsed);

class ProgressBar {
 public:
  ProgressBar(std::string what, std::string unit, std::FILE* out = stderr);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();

  // From any thread; redraws ten times a second at most.
  // `note` goes after the rest of the line.
  void update(std::size_t done, std::size_t all, std::string_view note = {});

 private:
  std::string what_, unit_;
  std::FILE* out_;  // null: not a terminal
  std::chrono::steady_clock::time_point begin_, drawn_;
  std::mutex mutex_;
};

}  // namespace foretrain
