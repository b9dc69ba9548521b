#include "fit/profile_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "base/text.h"
#include "operators/description.h"

namespace foretrain {
namespace {

auto order_of(const ModelKey& key) { return std::tuple(key.kind, key.impl, key.pass, key.dtype); }

}  // namespace

std::string text_of(const ModelKey& key) {
  return std::string(name(key.kind)) + " " + std::string(name(key.impl)) + " " + std::string(name(key.pass)) +
         " " + std::string(name(key.dtype));
}

std::vector<SampleGroup> group_samples(const std::vector<Sample>& samples) {
  std::vector<SampleGroup> groups;
  // Where each of its passes was sampled.
  const auto pools = [&](const ModelKey& key) {
    constexpr PassKind kPasses[] = {PassKind::kForward, PassKind::kInput, PassKind::kWeight};
    return std::all_of(std::begin(kPasses), std::end(kPasses), [&](PassKind pass) {
      return std::any_of(samples.begin(), samples.end(), [&](const Sample& sample) {
        const ModelKey other = key_of(sample.op);
        return is_pooled(other) && other.pass == pass && pooled_key(other) == key;
      });
    });
  };
  std::array<std::array<bool, kDtypeCount>, kOperatorKindCount> pooled{};
  for (std::size_t k = 0; k < kOperatorKindCount; ++k) {
    const auto kind = static_cast<OperatorKind>(k);
    if (!description(kind).pools_passes) continue;
    for (std::size_t d = 0; d < kDtypeCount; ++d)
      pooled[k][d] = pools(pooled_key({.kind = kind, .dtype = static_cast<Dtype>(d)}));
  }
  for (const Sample& sample : samples) {
    ModelKey key = key_of(sample.op);
    if (is_pooled(key) && pooled[static_cast<std::size_t>(key.kind)][static_cast<std::size_t>(key.dtype)])
      key = pooled_key(key);
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const SampleGroup& g) { return g.key == key; });
    if (group == groups.end()) group = groups.insert(groups.end(), SampleGroup{key, {}});
    group->samples.push_back(&sample);
  }
  std::sort(groups.begin(), groups.end(),
            [](const SampleGroup& a, const SampleGroup& b) { return order_of(a.key) < order_of(b.key); });
  return groups;
}

namespace {

Result<FittedProfile> fit_models(const std::vector<Sample>& samples, const Gpu& gpu,
                                 const FitOptions& options, const Progress& progress) {
  FittedProfile profile;
  std::size_t done = 0;
  for (const SampleGroup& group : group_samples(samples)) {
    if (distinct_shape_count(group.samples) < kFewestSamples) {
      profile.too_few.push_back(text_of(group.key));
    } else {
      TRY_ASSIGN(FittedOperator model, fit_operator(group.samples, gpu, options));
      profile.models.push_back(std::move(model));
    }
    done += group.samples.size();
    if (progress) progress(done, samples.size());
  }
  if (profile.models.empty())
    return fail("no operator has " + std::to_string(kFewestSamples) +
                " usable samples; expected at least one");
  return profile;
}

std::optional<Seconds> plain_launch(const std::vector<Sample>& samples) {
  using enum OperatorKind;
  constexpr std::array kOneKernel = {kAdd, kBias, kCopy, kGelu, kMaskedFill, kSoftmax};
  std::vector<double> host;
  for (const Sample& sample : samples)
    if (sample.host_us && sample.op.impl == Impl::kAten && sample.op.pass == PassKind::kForward &&
        std::find(kOneKernel.begin(), kOneKernel.end(), sample.op.kind) != kOneKernel.end())
      host.push_back(*sample.host_us);
  if (host.size() < kFewestSamples) return std::nullopt;
  const auto middle = host.begin() + static_cast<std::ptrdiff_t>(host.size() / 2);
  std::nth_element(host.begin(), middle, host.end());
  if (*middle <= 0) return std::nullopt;
  return microseconds(*middle);
}

// Clocks of products were not read but foretold, and a library's cast stands for those of others. Products of scaled
// operands rest on what a cast left of their time, and on kernels of inference for those of training (assumed).
constexpr double kFreedSpread = 0.10;
void mark_carried(std::vector<FittedOperator>& models, bool all) {
  for (FittedOperator& model : models) {
    if (!is_product(model.key.kind) && !is_of_formats(model.key.kind) && !all) continue;
    model.facts.origin = Origin::kDerived;
    const double clock = model.facts.clocked_share * kShortLoopClockSpread;
    model.facts.spread = std::hypot(model.facts.spread, clock);
    if (is_product(model.key.kind) && is_scaled(model.key.dtype))
      model.facts.spread = std::hypot(model.facts.spread, kFreedSpread);
    model.facts.spread_outside = std::max(model.facts.spread_outside, 2 * model.facts.spread);
  }
}

}  // namespace

Result<FittedProfile> fit_profile(const std::vector<Sample>& samples, const Gpu& gpu,
                                  const FitOptions& options, const Progress& progress) {
  TRY_ASSIGN(FittedProfile profile, fit_models(samples, gpu, options, progress));
  profile.host_launch = plain_launch(samples);
  if (options.carried || options.derived) {
    if (options.carried) profile.power = PowerFit{*options.carried, 0, 0};
    mark_carried(profile.models, options.derived);
    return profile;
  }
  profile.power = fit_power(samples, gpu, [&](const Operator& op) {
    ModelKey key = key_of(op);
    for (const FittedOperator& model : profile.models)
      if (model.key == key || (model.facts.pooled && is_pooled(key) && model.key == pooled_key(key)))
        return model.facts.clocked_share;
    return 0.0;
  });
  if (profile.power && !can_be_stated(profile.power->model)) {
    profile.power.reset();
    profile.power_left_out = true;
  }
  const auto clocked = [](const FittedOperator& model) { return model.facts.clocked_share > 0; };
  if (!profile.power && std::any_of(profile.models.begin(), profile.models.end(), clocked)) {
    // No governor will lower the reference clock: times have to stand for the clocks they were sampled at.
    std::vector<Sample> as_timed = samples;
    for (Sample& sample : as_timed) sample.clock_mhz.reset();
    TRY_ASSIGN(FittedProfile again, fit_models(as_timed, gpu, options, progress));
    profile.models = std::move(again.models);
  }
  if (profile.power)
    for (const SampleGroup& group : group_samples(samples))
      for (FittedOperator& model : profile.models)
        if (model.key == group.key && is_product(model.key.kind))
          model.power = fit_energy(group.samples, gpu, profile.power->model, model.facts.clocked_share);
  return profile;
}

std::vector<OutputFile> profile_files(ProfileInfo info, const std::vector<FittedOperator>& models,
                                      const std::vector<OutputFile>& parent) {
  std::vector<OperatorModelView> views;
  for (const FittedOperator& model : models) views.push_back(model.view());
  if (!parent.empty()) info.derive_from = "./" + std::string(kParentFolder);
  std::vector<OutputFile> files = {{"models.bin", to_bytes(views)}, {"profile.yaml", to_yaml(info)}};
  for (const OutputFile& file : parent)
    files.push_back({std::string(kParentFolder) + "/" + file.name, file.content});
  return files;
}

}  // namespace foretrain
