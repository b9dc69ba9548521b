#include "base/streamed_file.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/file.h"

namespace foretrain {

StreamedFile::StreamedFile(std::string path, std::string beside, std::FILE* file)
    : path_(std::move(path)), beside_(std::move(beside)), file_(file) {}

StreamedFile::StreamedFile(StreamedFile&& other) noexcept
    : path_(std::move(other.path_)),
      beside_(std::move(other.beside_)),
      file_(std::exchange(other.file_, nullptr)),
      error_(other.error_) {}

StreamedFile::~StreamedFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  ::unlink(beside_.c_str());
}

Result<StreamedFile> StreamedFile::open(const std::string& path) {
  TRY(check_writable(path));
  const std::string place = behind_links(path);
  const std::string beside = place + ".partial." + std::to_string(::getpid());
  StreamedFile opened(place, beside, nullptr);  // first, so that the file has an owner from its beginning
  opened.file_ = std::fopen(beside.c_str(), "wxe");
  if (opened.file_ == nullptr) return cannot("write", path, errno);
  return opened;
}

void StreamedFile::write(std::string_view text) {
  if (error_ == 0 && std::fwrite(text.data(), 1, text.size(), file_) != text.size()) error_ = errno;
}

Result<void> StreamedFile::commit() {
  std::FILE* const file = std::exchange(file_, nullptr);
  if (std::fclose(file) != 0 && error_ == 0) error_ = errno;
  if (error_ == 0 && std::rename(beside_.c_str(), path_.c_str()) != 0) error_ = errno;
  if (error_ == 0) return {};
  ::unlink(beside_.c_str());
  return cannot("write", path_, error_);
}

}  // namespace foretrain
