#include "samples/training_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "samples/log_line.h"
#include "samples/mlperf_log.h"
#include "samples/stated_run.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostSteps = 2'000'000;
constexpr std::size_t kLongestLine = 1 << 20;  // of longer ones the beginning counts

// What happens between lines of steps, by the words that trainers have for it.
struct Pause {
  std::string_view words, name;
};
constexpr Pause kPauses[] = {{"validation loss at", "evaluation"},
                             {"validate step:", "evaluation"},
                             {"'eval_loss'", "evaluation"},
                             {"'eval_runtime'", "evaluation"},
                             {"Validation DataLoader", "evaluation"},
                             {"evaluating", "evaluation"},
                             {"Evaluating", "evaluation"},
                             {"eval metrics after step", "evaluation"},
                             {"val loss", "evaluation"},
                             {"aving checkpoint", "checkpoint"},
                             {"aved checkpoint", "checkpoint"},
                             {"aving the checkpoint", "checkpoint"},
                             {"aving a checkpoint", "checkpoint"},
                             {"aving model checkpoint", "checkpoint"},
                             {"checkpoint saved", "checkpoint"},
                             {"Dumping profiler traces", "profile"},
                             {"Dumping traces", "profile"}};

std::string_view pause_in(std::string_view line) {
  for (const Pause& pause : kPauses)
    if (line.find(pause.words) != std::string_view::npos) return pause.name;
  return {};
}

// The lines of one form, runs apart from each other and each step once.
class FormSteps {
 public:
  void add(const StepLine& told, std::string_view pause) {
    ++lines_;
    if (is_said_already(told)) return;
    if (runs_.empty() || is_another_run(told)) {
      runs_.emplace_back();
      losses_.clear();
    }
    losses_.emplace(told.step, told.loss);
    runs_.back().push_back({told, std::string(pause)});
    ++steps_;
  }
  std::size_t lines() const { return lines_; }
  std::size_t steps() const { return steps_; }
  std::size_t runs() const { return runs_.size(); }

  // The longest, the last of such.
  const std::vector<LoggedStep>& main_run() const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < runs_.size(); ++i)
      if (runs_[i].size() >= runs_[best].size()) best = i;
    return runs_[best];
  }

 private:
  // Another rank says the same step: its loss is the same, or one of them has none (a stage that computes no
  // loss says -1).
  bool is_said_already(const StepLine& told) const {
    const auto found = losses_.find(told.step);
    if (runs_.empty() || found == losses_.end() || is_other_total(told)) return false;
    const auto has_none = [](double loss) { return std::isnan(loss) || loss == -1; };
    return has_none(found->second) || has_none(told.loss) || found->second == told.loss;
  }
  bool is_other_total(const StepLine& told) const {
    return told.total > 0 && runs_.back().back().told.total > 0 &&
           told.total != runs_.back().back().told.total;
  }
  bool is_another_run(const StepLine& told) const {
    return is_other_total(told) || told.step <= runs_.back().back().told.step;
  }

  std::size_t lines_ = 0, steps_ = 0;
  std::vector<std::vector<LoggedStep>> runs_;
  std::map<std::int64_t, double> losses_;  // of the run being read, by step
};

class Reader {
 public:
  Reader(std::string_view text, const std::string& file)
      : text_(text), file_(file), forms_(log_forms().size()), pauses_(log_forms().size() + 1) {}

  Result<TrainingLog> read() {
    while (!text_.empty()) {
      const std::size_t end = std::min(text_.find_first_of("\r\n"), text_.size());
      TRY(read_line(text_.substr(0, std::min(end, kLongestLine))));
      if (end < text_.size() && text_[end] == '\n') ++line_;
      text_.remove_prefix(std::min(end + 1, text_.size()));
    }
    if (!mlperf_.empty())
      if (auto log = std::move(mlperf_).take()) {
        log->file = file_;
        return *std::move(log);
      }
    return finish();
  }

 private:
  Result<void> read_line(std::string_view raw) {
    if (raw.empty()) return {};
    if (raw.find(kMlperfMark) != std::string_view::npos) {
      mlperf_.read(raw, line_);
      return {};
    }
    const std::string line = without_colours(raw);
    run_.read(line);
    read_memory(line);
    read_summary(line);
    bool is_step = false;
    const std::span<const LogForm> forms = log_forms();
    for (std::size_t i = 0; i < forms.size() && !is_step; ++i) {
      auto told = step_line(line, forms[i]);
      if (!told) continue;
      is_step = true;
      told->line = line_;
      TRY(check_count());
      if (forms[i].step.empty()) told->step = static_cast<std::int64_t>(forms_[i].lines()) + 1;
      forms_[i].add(*told, std::exchange(pauses_[i], ""));
    }
    if (is_step) return {};
    if (auto told = progress_line(line); told && told->seconds > 0) {
      told->line = line_;
      TRY(check_count());
      bars_.add(*told, std::exchange(pauses_.back(), ""));
    }
    if (const std::string_view pause = pause_in(line); !pause.empty())
      for (std::string& since : pauses_) since = pause;
    return {};
  }

  Result<void> check_count() {
    if (++count_ <= kMostSteps) return {};
    return fail("found more than 2,000,000 lines of steps, expected fewer", Position{file_, line_, 1});
  }

  // "[Rank 0] (after 20 iterations) memory (MB) | allocated: 1.5 | max allocated: 2.5 | reserved: ..."; nanotron's
  // "Peak reserved: 3456.00MiB"; "MaxMemAllocated=12.3GB".
  void read_memory(std::string_view line) {
    constexpr std::string_view kMegatron = "memory (MB)";
    if (const std::size_t at = line.find(kMegatron); at != std::string_view::npos)
      if (const auto number = number_after(line.substr(at), "max reserved"))
        take_memory(number->value / 1024, "max reserved");
    if (const auto gib = memory_gib_after(line, "Peak reserved")) take_memory(*gib, "Peak reserved");
  }
  void take_memory(double gib, std::string_view counter) {
    if (gib > memory_) memory_ = gib, memory_counter_ = counter;
  }

  // The dictionaries of Hugging Face's Trainer: losses, and a summary at the end.
  void read_summary(std::string_view line) {
    const bool has_epoch = line.find("'epoch':") != std::string_view::npos;
    if (has_epoch && line.find("'loss':") != std::string_view::npos) ++trainer_lines_;
    if (line.find("train_runtime") == std::string_view::npos) return;
    const auto rate = number_after(line, "train_steps_per_second");
    const auto samples = number_after(line, "train_samples_per_second");
    if (rate && rate->value > 0) trainer_seconds_ = 1 / rate->value;
    if (samples && samples->value > 0) trainer_samples_ = samples->value;
  }

  Result<TrainingLog> finish() {
    TrainingLog log;
    log.file = file_;
    log.run = std::move(run_).take();
    log.memory_gib = memory_;
    log.memory_counter = memory_counter_;
    std::size_t best = forms_.size();
    for (std::size_t i = 0; i < forms_.size(); ++i)
      if (forms_[i].lines() > (best == forms_.size() ? 0 : forms_[best].lines())) best = i;
    if (best < forms_.size()) {
      log.format = log_forms()[best].format;
      take_steps(forms_[best], log);
      take_memory(forms_[best].main_run(), log_forms()[best].memory, log);
      return log;
    }
    if (trainer_lines_ == 0 && trainer_seconds_ == 0 && bars_.lines() == 0)
      return fail(
          "found no line that tells of a step, expected the log of a training run: Megatron-LM or a fork, "
          "torchtitan, nanotron, NeMo, GPT-NeoX, DeepSpeed, Hugging Face Trainer, MaxText, MLPerf (:::MLLOG) "
          "and others",
          Position{file_, 1, 1});
    log.format = trainer_lines_ > 0 || trainer_seconds_ > 0 ? "hf-trainer" : "progress-bar";
    if (bars_.lines() > 0) take_steps(bars_, log);
    if (trainer_lines_ > 0) log.lines = log.steps = trainer_lines_;
    if (!(log.steady.seconds > 0)) log.steady.seconds = trainer_seconds_;
    log.steady.samples = trainer_samples_;
    if (!(log.steady.seconds > 0))
      return fail("found losses and no times, expected progress bars or the summary 'train_runtime'",
                  Position{file_, 1, 1});
    return log;
  }

  // What the lines of steps say of memory, where no line of its own said more.
  static void take_memory(std::span<const LoggedStep> steps, std::string_view counter, TrainingLog& log) {
    for (const LoggedStep& step : steps)
      if (step.told.memory_gib > log.memory_gib)
        log.memory_gib = step.told.memory_gib, log.memory_counter = counter;
  }

  static void take_steps(const FormSteps& form, TrainingLog& log) {
    const std::vector<LoggedStep>& run = form.main_run();
    log.lines = form.lines(), log.steps = form.steps(), log.runs = form.runs();
    log.first_step = run.front().told.step, log.last_step = run.back().told.step;
    log.total_steps = run.back().told.total;
    log.global_batch = run.back().told.batch;
    if (const auto stated = log.run.find("global_batch_size");
        stated != log.run.end() && log.global_batch == 0)
      log.global_batch = std::max(0.0, parse_number(stated->second).value_or(0));
    log.steady = steady_steps(run);
    if (!(log.steady.seconds > 0) && log.global_batch > 0 && log.steady.samples > 0)
      log.steady.seconds = log.global_batch / log.steady.samples;
  }

  std::string_view text_;
  const std::string& file_;
  int line_ = 1;
  std::size_t count_ = 0;
  std::vector<FormSteps> forms_;
  FormSteps bars_;
  std::vector<std::string> pauses_;  // since the last line of each form, and of bars
  MlperfLog mlperf_;
  StatedRun run_;
  double memory_ = 0;
  std::string memory_counter_;
  std::size_t trainer_lines_ = 0;
  double trainer_seconds_ = 0, trainer_samples_ = 0;
};

}  // namespace

Result<TrainingLog> parse_training_log(std::string_view text, const std::string& file_name) {
  return Reader(text, file_name).read();
}

}  // namespace foretrain
