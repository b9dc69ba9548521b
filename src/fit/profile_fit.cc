#include "fit/profile_fit.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <tuple>

#include "base/file.h"
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

}  // namespace

Result<FittedProfile> fit_profile(const std::vector<Sample>& samples, const Gpu& gpu,
                                  const FitOptions& options, const Progress& progress) {
  TRY_ASSIGN(FittedProfile profile, fit_models(samples, gpu, options, progress));
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

Result<void> check_profile_folder(const std::string& folder, bool force) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(folder, ignored))) {
    const std::string parent = fs::path(folder).parent_path().string();
    if (!parent.empty() && !is_folder(parent))
      return fail("-o: found no folder " + foretrain::quoted(parent) + " to write into");
    return {};
  }
  if (!is_folder(folder)) return fail("-o: " + foretrain::quoted(folder) + " is not a folder");
  if (!force)
    return fail("-o: " + foretrain::quoted(folder) + " exists; give --force to replace the profile in it");
  if (!is_file(folder + "/profile.yaml"))
    return fail("-o: " + foretrain::quoted(folder) +
                " holds no profile.yaml; --force replaces profiles only");
  return {};
}

namespace {

namespace fs = std::filesystem;

bool is_of_profile(const fs::path& entry) {
  const std::string name = entry.filename().string();
  return name == "profile.yaml" || name == "models.bin" || name == kParentFolder;
}

// What belongs to a profile, or all that does not, from one folder into another.
std::error_code copy_entries(const std::string& from, const std::string& to, bool of_profile) {
  std::error_code error;
  for (auto entry = fs::directory_iterator(from, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (is_of_profile(entry->path()) != of_profile) continue;
    fs::copy(entry->path(), fs::path(to) / entry->path().filename(),
             fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
    if (error) break;
  }
  return error;
}

// `made` takes the place of `folder`; what stood there is gone afterwards.
std::error_code put_in_place(const std::string& made, const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder)) {
    fs::rename(made, folder, error);
    return error;
  }
  if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(made, error);
    return {};
  }
  // A file system that cannot exchange: two steps, and back if the second fails.
  const std::string old = made + ".old";
  fs::rename(folder, old, error);
  if (error) return error;
  fs::rename(made, folder, error);
  std::error_code ignored;
  if (error)
    fs::rename(old, folder, ignored);
  else
    fs::remove_all(old, ignored);
  return error;
}

}  // namespace

Result<void> write_profile(const std::string& given, ProfileInfo info,
                           const std::vector<FittedOperator>& models, bool force,
                           const std::string& parent_folder) {
  TRY(check_profile_folder(given, force));
  // Behind a link it is the folder that changes, not the link.
  std::error_code error;
  const std::string folder = is_folder(given) ? fs::canonical(given, error).string() : given;
  std::vector<OperatorModelView> views;
  for (const FittedOperator& model : models) views.push_back(model.view());
  if (!parent_folder.empty()) info.derive_from = "./" + std::string(kParentFolder);
  const std::string made = folder + ".partial." + std::to_string(::getpid());
  const auto failed = [&](const std::error_code& why) -> Result<void> {
    if (!why) return {};
    return cannot("write", folder, why.value());
  };
  if (error) return failed(error);
  if (!fs::create_directory(made, error)) return failed(error);
  const Removal removal(made);
  if (is_folder(folder)) TRY(failed(copy_entries(folder, made, false)));
  if (auto files = write_folder(made, {{"models.bin", to_bytes(views)}, {"profile.yaml", to_yaml(info)}});
      !files)
    return fail(files.error().message, Position{folder});
  if (!parent_folder.empty()) {
    const std::string parent = made + "/" + std::string(kParentFolder);
    fs::create_directory(parent, error);
    TRY(failed(error));
    TRY(failed(copy_entries(parent_folder, parent, true)));
  }
  return failed(put_in_place(made, folder));
}

}  // namespace foretrain
