#include "fit/profile_fit.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "base/file.h"
#include "base/text.h"

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
  for (const Sample& sample : samples) {
    const ModelKey key = key_of(sample.op);
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const SampleGroup& g) { return g.key == key; });
    if (group == groups.end()) group = groups.insert(groups.end(), SampleGroup{key, {}});
    group->samples.push_back(&sample);
  }
  std::sort(groups.begin(), groups.end(),
            [](const SampleGroup& a, const SampleGroup& b) { return order_of(a.key) < order_of(b.key); });
  return groups;
}

Result<FittedProfile> fit_profile(std::vector<Sample> samples, const Gpu& gpu, const FitOptions& options,
                                  const Progress& progress) {
  CleanResult cleaned = clean(std::move(samples), gpu);
  FittedProfile profile;
  profile.used = cleaned.kept.size();
  profile.rejected = cleaned.rejected.size();
  profile.rejections = std::move(cleaned.rejections);
  std::size_t done = 0;
  for (const SampleGroup& group : group_samples(cleaned.kept)) {
    if (distinct_shape_count(group.samples) < kFewestSamples) {
      profile.too_few.push_back(text_of(group.key));
    } else {
      TRY_ASSIGN(FittedOperator model, fit_operator(group.samples, gpu, options));
      profile.models.push_back(std::move(model));
    }
    done += group.samples.size();
    if (progress) progress(done, profile.used);
  }
  if (profile.models.empty())
    return fail("no operator has " + std::to_string(kFewestSamples) +
                " usable samples; expected at least one");
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

Result<void> write_profile(const std::string& folder, const ProfileInfo& info,
                           const std::vector<FittedOperator>& models, bool force) {
  namespace fs = std::filesystem;
  TRY(check_profile_folder(folder, force));
  std::vector<OperatorModelView> views;
  for (const FittedOperator& model : models) views.push_back(model.view());
  const auto write_into = [&](const std::string& place) -> Result<void> {
    TRY(write_file(place + "/models.bin", to_bytes(views)));
    return write_file(place + "/profile.yaml", to_yaml(info));
  };
  if (is_folder(folder)) return write_into(folder);
  const std::string partial = folder + ".partial." + std::to_string(::getpid());
  std::error_code error, ignored;
  if (!fs::create_directory(partial, error))
    return fail("cannot write: " + error.message(), Position{folder});
  Result<void> written = write_into(partial);
  if (written) {
    fs::rename(partial, folder, error);
    if (error) written = fail("cannot write: " + error.message(), Position{folder});
  }
  if (!written) fs::remove_all(partial, ignored);
  return written;
}

}  // namespace foretrain
