#include "ask/launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/did_you_mean.h"
#include "base/text.h"
#include "job/launch_run.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

// Built the same way: names, sources and what is trained with may differ.
bool same_build(Model a, const Model& b) {
  a.name = b.name;
  a.source = b.source;
  a.assumed = b.assumed;
  a.stated_params = b.stated_params;
  a.default_seq = b.default_seq;
  a.dropout = b.dropout;
  return a == b;
}

void find_names(const Catalog& catalog, LaunchRun& run) {
  std::vector<std::string> names = catalog.names("models");
  // The one that it is called first.
  std::stable_partition(names.begin(), names.end(),
                        [&](const std::string& name) { return name == run.model.name; });
  for (const std::string& name : names) {
    const auto preset = catalog.model(name);
    if (!preset || !same_build(*preset, run.model)) continue;
    run.preset = name;
    for (const std::string& alias : catalog.aliases("models", name))
      if (alias.find('/') != std::string::npos) {
        run.hub = alias;
        return;
      }
    return;
  }
}

}  // namespace

Result<const LaunchFormat*> launch_format(std::string_view field, const std::string& word,
                                          std::vector<std::string> others) {
  if (const LaunchFormat* format = find_launch_format(word)) return format;
  for (const LaunchFormat& format : launch_formats()) others.emplace_back(format.word);
  return fail_field(field, "unknown format " + quoted(word) + suggestion(word, others));
}

Result<WholeLaunch> launch_of(const Catalog& catalog, const Run& run, const LaunchFormat& format,
                              std::string_view field) {
  WholeLaunch whole;
  whole.run = launch_run_of(run);
  find_names(catalog, whole.run);
  TRY_ASSIGN(whole.launch, stated_launch(format, whole.run, field));
  whole.about.push_back(fmt::format("plan {}; {} x {} tokens a step; stack {}", to_text(run.plan),
                                    run.global_batch, run.seq, run.stack.name));
  return whole;
}

Result<WholeLaunch> launch_of_best(const Catalog& catalog, const SearchAnswer& answer,
                                   const LaunchFormat& format) {
  std::vector<const RankedPlan*> plans;
  for (const RankedPlan& plan : answer.best) plans.push_back(&plan);
  for (const ListFamily& family : answer.families) plans.push_back(&family.best);
  if (plans.empty())
    return fail_field("launch", "found no plan to launch; the search without it tells what would fit");
  std::string first_refusal;
  for (const RankedPlan* plan : plans) {
    auto whole = launch_of(catalog, plan->run, format, "launch");
    if (!whole) {
      if (first_refusal.empty()) first_refusal = whole.error().message;
      continue;
    }
    const Estimate& step = plan->prediction.step;
    whole->about.push_back(fmt::format("predicted: {} a step (80 % interval {} to {}), {} a GPU",
                                       human_seconds(Seconds(step.value)), human_seconds(Seconds(step.low())),
                                       human_seconds(Seconds(step.high())),
                                       human_bytes(Bytes(plan->scored.peak))));
    if (!first_refusal.empty())
      whole->about.push_back(
          fmt::format("the best of those that can be launched so; of the best: {}", first_refusal));
    return whole;
  }
  return fail_field("launch", fmt::format("{}, nor any other of the best plans", first_refusal));
}

std::string launch_text(const WholeLaunch& whole, bool json) {
  return json ? launch_json(whole) : launch_script(whole.launch, whole.run, whole.about);
}

}  // namespace foretrain
