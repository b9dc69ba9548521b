// Where profile names lead: those built into the program, a folder `profiles/NAME` below the user's presets
// folder, or the path of a profile's folder (those two in the Files given). "analytic" is no profile: physics
// alone.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cost/profile.h"
#include "cost/profile_cost.h"
#include "spec/catalog.h"

namespace foretrain {

inline constexpr std::string_view kAnalyticProfile = "analytic";

struct LoadedProfile {
  ProfileInfo info;
  ModelFile models;
  std::string folder;  // where it was found; for those in the program, where it would be

  // What info.derive_from names: a profile's name, or the path of a folder inside this one's.
  std::string parent() const;
};

class ProfileStore {
 public:
  ProfileStore() = default;  // what is built in, alone
  explicit ProfileStore(const Files& files, std::string folder = {})
      : files_(&files), folder_(std::move(folder)), catalog_(files, folder_) {}

  std::vector<std::string> names() const;  // sorted; without "analytic"
  Result<LoadedProfile> load(std::string_view name_or_folder) const;

  // The files that make up the profile in a folder, its own copy of a parent included.
  Result<std::vector<OutputFile>> files_of(const std::string& folder) const;

  // What operators cost on a cluster: by the named profile; by the one that carries the GPU's name, where
  // `profile` is empty and there is one; otherwise by physics. A profile of another GPU is refused.
  struct Choice {
    std::shared_ptr<const CostSource> costs;
    std::string profile;    // its name, or "analytic"
    std::size_t bytes = 0;  // of its models
  };
  Result<Choice> costs_for(const Cluster& cluster, std::string_view profile) const;

 private:
  Result<std::shared_ptr<const ProfileCost>> open(LoadedProfile loaded, const Cluster& cluster,
                                                  int depth) const;

  Result<LoadedProfile> load_folder(const std::string& folder) const;

  const Files* files_ = &no_files();
  std::string folder_;
  Catalog catalog_;
};

}  // namespace foretrain
