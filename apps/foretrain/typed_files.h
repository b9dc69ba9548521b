// The disk as a command line has it: "-" and /dev/stdin are what comes in on stdin, /dev/fd/N a pipe that a shell opened
// (<(command)).
#pragma once

#include <map>
#include <string>

#include "base/files.h"

namespace foretrain {

class TypedFiles final : public Files {
 public:
  Result<std::string> read(const std::string& path, std::size_t max_bytes) const override;
  bool is_file(const std::string& path) const override;
  bool is_folder(const std::string& path) const override { return disk().is_folder(path); }
  Result<std::vector<std::string>> list(const std::string& folder, std::string_view suffix) const override {
    return disk().list(folder, suffix);
  }
  Result<std::vector<std::string>> folders(const std::string& folder) const override {
    return disk().folders(folder);
  }

 private:
  mutable std::map<std::string, std::string> read_;  // what has come in: it comes once
};

}  // namespace foretrain
