// Removes a file or folder of ours at the end of its scope, also where memory runs out on the way there. One
// that was renamed by then is no longer there, and stays.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <exception>
#include <filesystem>
#include <string>

namespace foretrain {

class Removal {
 public:
  explicit Removal(const std::string& path) : path_(path) {}
  Removal(const Removal&) = delete;
  Removal& operator=(const Removal&) = delete;
  ~Removal() {
    if (::unlink(path_.c_str()) == 0 || errno == ENOENT) return;
    try {
      std::filesystem::remove_all(path_);
    } catch (const std::exception&) {  // no memory even for that
    }
  }

 private:
  const std::string& path_;
};

}  // namespace foretrain
