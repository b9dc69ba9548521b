// Where texts come from. The library opens no path by itself: it asks a Files, which is the disk for the
// command line, and for a server no files at all, so that nobody reads its disk through a request. Requests
// hold contents, each with the name that positions call it by.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace foretrain {

class Files {
 public:
  virtual ~Files() = default;
  // Refuses what is missing, not a plain file, unreadable, or larger than max_bytes.
  virtual Result<std::string> read(const std::string& path, std::size_t max_bytes) const = 0;
  virtual bool is_file(const std::string& path) const = 0;
  virtual bool is_folder(const std::string& path) const = 0;
  // Names of a folder's plain files that end in `suffix`, and of the folders in it, sorted.
  virtual Result<std::vector<std::string>> list(const std::string& folder, std::string_view suffix) const = 0;
  virtual Result<std::vector<std::string>> folders(const std::string& folder) const = 0;
};

const Files& disk();
const Files& no_files();  // knows of none, and refuses to read

struct Source {
  std::string name;  // as positions call it: a path, or what a page calls its text
  std::string text;
};

// A file, or a folder's files in order of name.
struct Sources {
  std::string name;
  bool folder = false;
  std::vector<Source> files;
};
Result<Sources> read_sources(const Files& files, const std::string& path, std::string_view suffix,
                             std::size_t max_bytes_each);

// What an answer wants to be written, by whoever asked.
struct OutputFile {
  std::string name, content;
};

// The last part of a path, and what comes before it ("" where there is nothing).
std::string file_name(std::string_view path);
std::string folder_of(std::string_view path);

}  // namespace foretrain
