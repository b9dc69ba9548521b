// Logs of MLPerf: lines ":::MLLOG {json}" with a key, a value and a time. Steps are told by `tracked_stats`
// (throughput in samples a second, train_step_time, max_memory_usage), else by the times of `train_loss` and of
// blocks, with the samples seen until then. Keys with a plain value state the run.
#pragma once

#include <string_view>

#include "samples/training_log.h"

namespace foretrain {

inline constexpr std::string_view kMlperfMark = ":::MLLOG";

class MlperfLog {
 public:
  void read(std::string_view line, int number);  // one with the mark
  bool empty() const { return lines_ == 0; }
  // None where no line tells of a step.
  std::optional<TrainingLog> take() &&;

 private:
  std::size_t lines_ = 0;
  double batch_ = 0, memory_ = 0, last_samples_ = 0;
  std::string pause_;
  std::vector<LoggedStep> tracked_, stamped_;
  StatedPairs pairs_;
};

}  // namespace foretrain
