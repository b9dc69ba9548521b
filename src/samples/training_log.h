// What a training run printed: its format, the steady step, memory, and the run itself where the log states it
// (docs/formats/training-log.md). Lines of steps are told by their words (samples/log_form.h); whatever else
// stands in the file, as in a document that a log was pasted into, is passed over.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "samples/steady_steps.h"

namespace foretrain {

using StatedPairs = std::map<std::string, std::string, std::less<>>;  // by name; the last word counts

struct TrainingLog {
  std::string file, format;
  std::size_t lines = 0;  // that tell of a step, as often as any rank said it
  std::size_t steps = 0;  // told, each once
  std::size_t runs =
      0;  // one after another in the file; the figures are those of the longest, the last of such
  std::int64_t first_step = 0, last_step = 0, total_steps = 0;  // of that run; 0: not told
  SteadySteps steady;
  double global_batch = 0;     // 0: not told
  double memory_gib = 0;       // the highest of any rank; 0: not told
  std::string memory_counter;  // "max reserved": in the log's words
  std::size_t ranks = 1;       // logs that were read as one (rank_logs.h)
  double fastest = 0,
         slowest = 0;  // their steady steps, in seconds (or their rates' reciprocals); of several
  std::string slowest_file;
  StatedPairs run;  // arguments as the log prints them: "num_layers", "64"
};

inline constexpr std::size_t kMaxTrainingLogBytes = std::size_t{256} << 20;

// A log without a line of a step is an error.
Result<TrainingLog> parse_training_log(std::string_view text, const std::string& file_name);

}  // namespace foretrain
