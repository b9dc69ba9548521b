// A file written piece by piece, for output that would not fit in memory. Like write_file it is written
// beside and renamed when it is whole: without commit() nothing is left.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace foretrain {

class StreamedFile {
 public:
  static Result<StreamedFile> open(const std::string& path);
  StreamedFile(StreamedFile&&) noexcept;
  StreamedFile& operator=(StreamedFile&&) = delete;
  ~StreamedFile();

  void write(std::string_view text);  // what fails is told by commit()
  Result<void> commit();

 private:
  StreamedFile(std::string path, std::string beside, std::FILE* file);
  std::string path_, beside_;
  std::FILE* file_;
  int error_ = 0;
};

}  // namespace foretrain
