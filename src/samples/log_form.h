// The lines by which trainers tell of a step. A form is data: words that must be in the line, and the words
// before its figures. Another framework, or another version's line, is another row of the table.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

namespace foretrain {

struct LogForm {
  std::string_view format;                     // "megatron"
  std::string_view first, second, third;       // all in the line, none of them empty but the last ones
  std::string_view step;                       // "iteration"; empty: lines are counted
  std::string_view seconds;                    // of a step
  double unit = 1;                             // of those seconds, where no unit follows them
  std::string_view steps_per_second{};         // in place of seconds
  std::string_view tokens{};                   // a second and GPU
  std::string_view samples{};                  // a second, of all
  std::string_view loss{}, batch{}, memory{};  // memory in the unit that follows it
};

// In order of preference where a log has as many lines of two.
std::span<const LogForm> log_forms();

struct StepLine {
  int line = 0;
  std::int64_t step = 0, total = 0;             // total 0: not said
  double seconds = 0, tokens = 0, samples = 0;  // 0: not said
  double loss = std::numeric_limits<double>::quiet_NaN();
  double batch = 0, memory_gib = 0;
  std::optional<double> stamp;
};

// The line (without colours) as a form's; none where it is not.
std::optional<StepLine> step_line(std::string_view line, const LogForm& form);

// "49.66GiB", "133.18GB", "26716 MB" in GiB. Trainers that write GB divide by 2^30; those that write a bare
// suffix (K, M, B) count bytes.
std::optional<double> memory_gib_after(std::string_view line, std::string_view key);

// A bar of tqdm: "  3%|x    | 10/300 [00:35<16:12,  3.35s/it, loss=2.1]".
std::optional<StepLine> progress_line(std::string_view line);

}  // namespace foretrain
