// A line on a terminal that says how far long work has come, drawn over itself and wiped at the end:
//   fitting  [############............]   50 %  1,200 of 2,400 samples, 310/s, 3.9 s left
//   searching  [######..................]   25 %  best 6.48 s, another at most 4.2 % better; 100 of 400 plans, ...
// It has the terminal's width. Where the stream is no terminal, or a dumb one, a line is written every ten seconds:
//   foretrain: searching:  25 %  best 6.48 s, another at most 4.2 % better; 100 of 400 plans, ...
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

#include "base/units.h"

namespace foretrain {

// What both say. Rate and time left are told after the first second, once something is done.
std::string progress_text(std::string_view unit, std::size_t done, std::size_t all, Seconds elapsed,
                          std::string_view note = {});

// The line of a terminal. What is wider than `width` loses places of its bar, then its rate, its counts and what follows
// the first comma of its note: at 40 places its share and the time left still stand there.
std::string progress_line(std::string_view what, std::string_view unit, std::size_t done, std::size_t all,
                          Seconds elapsed, std::string_view note = {}, std::size_t width = std::string::npos);

class ProgressBar {
 public:
  ProgressBar(std::string what, std::string unit, std::FILE* out = stderr);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();

  // From any thread; redraws ten times a second at most. `note` is what the work has come to so far.
  void update(std::size_t done, std::size_t all, std::string_view note = {});

 private:
  std::string what_, unit_;
  std::FILE* out_;
  bool terminal_;
  std::chrono::steady_clock::time_point begin_, drawn_;
  std::mutex mutex_;
};

}  // namespace foretrain
