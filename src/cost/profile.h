// A profile: what one GPU's operators take, fitted from samples. On disk it is a folder
//   profile.yaml   name, gpu, source, what power does to its clock, and for a GPU without samples of its own
//                  `derive_from`
//   models.bin     the fitted models: flat, versioned, checksummed, used in place (docs/formats/profile.md)
// Profiles shipped with the program are embedded in it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cost/operator_model.h"

namespace foretrain {

struct Node;

struct ProfileInfo {
  std::string name;
  std::string gpu;          // by name in the catalog
  std::string source;       // where the samples come from
  std::string derive_from;  // another profile, for operators that this one lacks; empty: none. "./NAME" is a
                            // folder inside this one's
  std::optional<PowerModel> power;  // where samples recorded clocks; else that of `derive_from`
  // Of the machine that was sampled: its host's time for a plain launch (Cluster::host_launch). Another machine's host
  // takes as much longer or shorter for what was sampled; absent: as long.
  std::optional<Seconds> host_launch;

  bool operator==(const ProfileInfo&) const = default;
};
inline constexpr std::string_view kParentFolder = "derive_from";  // where fit puts a copy of it
Result<ProfileInfo> parse_profile_info(const Node& node);
// Whether a profile takes these figures; no chip is near the ends of what it takes.
bool can_be_stated(const PowerModel& power);
std::string to_yaml(const ProfileInfo& info);

// The views into the bytes of models.bin, and the bytes where they are not the program's own.
class ModelFile {
 public:
  // Checks magic, version, checksum, and that every count and offset stays inside and every forest is well
  // formed.
  static Result<ModelFile> open(std::string bytes, const std::string& file_name);

  // Of bytes that lie in the program, eight-byte aligned: used where they lie. A test has opened each as above, so that
  // of trees and points, which are nearly all of it, no page is touched before an operator asks for it.
  static Result<ModelFile> in_program(std::string_view bytes, const std::string& file_name);

  const std::vector<OperatorModelView>& models() const { return models_; }
  const OperatorModelView* find(const ModelKey& key) const;
  std::size_t bytes() const { return size_; }

 private:
  enum class Depth { kHeads, kWhole };
  static Result<ModelFile> read(std::string_view bytes, const std::string& file_name, Depth depth);

  // Eight-byte aligned; moves do not invalidate views. Null: the program's.
  std::shared_ptr<const std::string> owned_;
  std::size_t size_ = 0;
  std::vector<OperatorModelView> models_;
};

// The bytes of models.bin: same models, same bytes.
std::string to_bytes(const std::vector<OperatorModelView>& models);

}  // namespace foretrain
