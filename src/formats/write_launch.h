// What a framework is launched with, written: complete, so that it starts once the user has given what only the user knows, and
// such that reading it (foreign_run.h) gives the run again. What a framework cannot be told is listed, never dropped.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/launch_run.h"
#include "formats/launch_text.h"

namespace foretrain {

// What a framework has no word for, and what it has instead.
struct Unstated {
  std::string key, value, instead;
};

struct WrittenLaunch {
  Launch launch;
  std::vector<Unstated> unstated;
};

// A format to write: its word, the framework, the stacks that are it (the first where a run's is none of them).
struct LaunchFormat {
  std::string_view word;
  std::string_view framework;
  std::string_view stacks;  // apart by blanks
  WrittenLaunch (*write)(const LaunchRun& run);

  std::string usual_stack() const;
  bool has_stack(std::string_view stack) const;
};
std::span<const LaunchFormat> launch_formats();
const LaunchFormat* find_launch_format(std::string_view word);

// The launch, or the first thing that it cannot state; `field` is what asked for the format.
Result<Launch> stated_launch(const LaunchFormat& format, const LaunchRun& run, std::string_view field);

// "schedule=zbv of the plan: Megatron-LM has 1f1b, ..."
std::string in_words(const Unstated& unstated, std::string_view framework);

// A plan in Megatron-LM's flags, one with its values an item, and what these cannot state.
struct PlanFlags {
  std::vector<std::string> flags;
  std::vector<Unstated> unstated;
};
PlanFlags megatron_plan_flags(const LaunchRun& run);

WrittenLaunch megatron_launch(const LaunchRun& run);
WrittenLaunch bridge_launch(const LaunchRun& run);
WrittenLaunch titan_launch(const LaunchRun& run);
WrittenLaunch nanotron_launch(const LaunchRun& run);
WrittenLaunch deepspeed_launch(const LaunchRun& run);
WrittenLaunch accelerate_launch(const LaunchRun& run);

}  // namespace foretrain
