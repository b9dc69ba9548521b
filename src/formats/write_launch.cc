#include "formats/write_launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "formats/launch_writer.h"

namespace foretrain {
namespace {

constexpr LaunchFormat kFormats[] = {
    {"megatron", "Megatron-LM", "megatron megatron-fsdp primus-megatron", megatron_launch},
    {"megatron-bridge", "Megatron-Bridge", "megatron-bridge nemo", bridge_launch},
    {"torchtitan", "torchtitan", "torchtitan torchtitan-compile", titan_launch},
    {"nanotron", "nanotron", "nanotron", nanotron_launch},
    {"deepspeed", "DeepSpeed", "deepspeed", deepspeed_launch},
    {"accelerate", "accelerate", "hf-trainer hf-eager hf-compile", accelerate_launch},
};

}  // namespace

std::string LaunchFormat::usual_stack() const { return std::string(split(stacks, ' ').front()); }

bool LaunchFormat::has_stack(std::string_view stack) const {
  const std::vector<std::string_view> all = split(stacks, ' ');
  return std::find(all.begin(), all.end(), stack) != all.end();
}

std::span<const LaunchFormat> launch_formats() { return kFormats; }

const LaunchFormat* find_launch_format(std::string_view word) {
  const auto* found = std::find_if(std::begin(kFormats), std::end(kFormats),
                                   [&](const LaunchFormat& format) { return format.word == word; });
  return found == std::end(kFormats) ? nullptr : found;
}

std::string in_words(const Unstated& unstated, std::string_view framework) {
  constexpr std::string_view kPlan = "plan.";
  const bool of_plan = unstated.key.starts_with(kPlan);
  const std::string key = of_plan ? unstated.key.substr(kPlan.size()) : unstated.key;
  return fmt::format("{}={} of the {}: {} {}", key, printable(unstated.value),
                     of_plan                       ? "plan"
                     : unstated.key == "documents" ? "run"
                                                   : "model",
                     framework, unstated.instead);
}

Result<Launch> stated_launch(const LaunchFormat& format, const LaunchRun& run, std::string_view field) {
  WrittenLaunch written = format.write(run);
  if (written.unstated.empty()) return std::move(written.launch);
  return fail_field(field,
                    fmt::format("cannot state {}", in_words(written.unstated.front(), format.framework)));
}

std::vector<Unstated> unstated_of(const Statements& statements, std::span<const Instead> instead) {
  std::vector<Unstated> out;
  for (const Statements::Statement& left : statements.left()) {
    const auto found =
        std::find_if(instead.begin(), instead.end(), [&](const Instead& one) { return one.key == left.key; });
    out.push_back(
        {left.key, left.value, std::string(found == instead.end() ? "has no word for it" : found->words)});
  }
  return out;
}

std::vector<std::string> flag_words(const KeySetting& setting, std::string_view dashes) {
  std::vector<std::string> out = {std::string(dashes) + setting.key};
  out.insert(out.end(), setting.words.begin(), setting.words.end());
  return out;
}

}  // namespace foretrain
