// The files of a face that is no command line: contents that a request brought along, and below them those of a folder
// that was read before any request came. Nothing else has a name here, so that no word of a request opens a file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/files.h"

namespace foretrain {

class HeldFiles final : public Files {
 public:
  HeldFiles() = default;
  explicit HeldFiles(const Files& below) : below_(&below) {}  // which has to outlive it

  void hold(std::string path, std::string text) { texts_.insert_or_assign(std::move(path), std::move(text)); }
  bool holds(const std::string& path) const { return texts_.contains(path); }
  void let_go() { texts_.clear(); }

  Result<std::string> read(const std::string& path, std::size_t max_bytes) const override;
  bool is_file(const std::string& path) const override;
  bool is_folder(const std::string& path) const override;
  Result<std::vector<std::string>> list(const std::string& folder, std::string_view suffix) const override;
  Result<std::vector<std::string>> folders(const std::string& folder) const override;

 private:
  std::map<std::string, std::string> texts_;
  const Files* below_ = nullptr;  // null: none
};

// All plain files below a folder, under their paths there, bounded in number and size: what stands in it later changes
// nothing. An empty folder name is none.
Result<HeldFiles> folder_held(const Files& files, const std::string& folder);

}  // namespace foretrain
