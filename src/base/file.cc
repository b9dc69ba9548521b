#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/text.h"

namespace foretrain {

tl::unexpected<Error> cannot(std::string_view what, const std::string& path, int error_number) {
  std::string reason = std::generic_category().message(error_number);
  if (!reason.empty() && reason[0] >= 'A' && reason[0] <= 'Z') reason[0] = static_cast<char>(reason[0] + 32);
  return fail("cannot " + std::string(what) + ": " + reason, Position{path});
}

namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }
  // Closes now, for close() is the last that can report a full disk.
  bool close() { return ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

Result<void> expect_regular(const struct stat& status, const std::string& path) {
  if (S_ISDIR(status.st_mode)) return fail("found a folder, expected a file", Position{path});
  if (!S_ISREG(status.st_mode)) return fail("found a device or pipe, expected a plain file", Position{path});
  return {};
}

// A path with a NUL inside would name another file than it seems to.
Result<void> expect_path(const std::string& path) {
  if (path.empty()) return fail("found an empty path, expected the name of a file");
  if (path.find('\0') != std::string::npos) return fail("found a NUL byte in a path", Position{path});
  return {};
}

Result<void> write_all(int descriptor, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot("write", path, errno);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> write_and_rename(const std::string& partial, const std::string& path, std::string_view content) {
  Descriptor file(::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (file.number() < 0) return cannot("write", path, errno);
  const Removal removal(partial);
  TRY(write_all(file.number(), content, path));
  if (!file.close()) return cannot("write", path, errno);
  if (std::rename(partial.c_str(), path.c_str()) != 0) return cannot("write", path, errno);
  return {};
}

}  // namespace

Removal::~Removal() {
  if (::unlink(path_.c_str()) == 0 || errno == ENOENT) return;
  try {
    std::filesystem::remove_all(path_);
  } catch (const std::exception&) {  // no memory even for that
  }
}

Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
  TRY(expect_path(path));
  // Looked at before it is opened, for opening a device can have effects; and again once it is open, for it
  // may have been replaced in between. O_NONBLOCK keeps a pipe without a writer from holding us up.
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return cannot("open", path, errno);
  TRY(expect_regular(status, path));
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) return cannot("open", path, errno);
  TRY(expect_regular(status, path));

  // The size is a hint only (files in /proc say 0, and a file can grow): what counts is what is read.
  std::string content;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size <= max_bytes) content.reserve(size + 1);
  char buffer[1 << 16];
  while (size <= max_bytes && content.size() <= max_bytes) {
    const ssize_t got = ::read(file.number(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot("read", path, errno);
    if (got == 0) return content;
    content.append(buffer, static_cast<std::size_t>(got));
  }
  return fail("found " + std::to_string(std::max(size, content.size())) + " bytes, expected at most " +
                  std::to_string(max_bytes),
              Position{path});
}

std::string behind_links(std::string path) {
  constexpr int kMostLinks = 40;  // as many as the system follows
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) return path;
    path = (target.is_absolute() ? target : std::filesystem::path(path).parent_path() / target).string();
  }
  return path;
}

Result<void> write_file(const std::string& path, std::string_view content) {
  TRY(expect_path(path));
  // Renaming over /dev/null or the like would replace the device itself.
  if (struct stat status{}; ::stat(path.c_str(), &status) == 0) TRY(expect_regular(status, path));
  const std::string place = behind_links(path);
  const std::string partial = place + ".partial." + std::to_string(::getpid());
  auto written = write_and_rename(partial, place, content);
  if (!written && place != path) return fail(written.error().message, Position{path});
  return written;
}

Result<void> check_writable(const std::string& path) {
  TRY(expect_path(path));
  if (struct stat status{}; ::stat(path.c_str(), &status) == 0) TRY(expect_regular(status, path));
  if (path.ends_with('/')) return fail("found a folder, expected a file", Position{path});
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const std::string folder = parent.empty() ? "." : parent;
  if (!is_folder(folder))
    return fail("found no folder " + foretrain::quoted(folder) + " to write into", Position{path});
  if (::access(folder.c_str(), W_OK) != 0) return cannot("write", path, errno);
  return {};
}

Result<void> write_folder(const std::string& folder, const std::vector<OutputFile>& files) {
  const auto write_into = [&](const std::string& place) -> Result<void> {
    for (const OutputFile& file : files) {
      std::error_code ignored;  // writing will say it
      std::filesystem::create_directories(std::filesystem::path(place + "/" + file.name).parent_path(),
                                          ignored);
      if (auto written = write_file(place + "/" + file.name, file.content); !written)
        return fail(written.error().message, Position{folder + "/" + file.name});
    }
    return {};
  };
  if (is_folder(folder)) return write_into(folder);
  const std::string partial = folder + ".partial." + std::to_string(::getpid());
  std::error_code error;
  if (!std::filesystem::create_directory(partial, error)) return cannot("write", folder, error.value());
  const Removal removal(partial);
  TRY(write_into(partial));
  std::filesystem::rename(partial, folder, error);
  if (error) return cannot("write", folder, error.value());
  return {};
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

void keep_standard_numbers() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(number, F_GETFD) == -1 &&
        ::open("/dev/null", number == STDOUT_FILENO ? O_RDONLY : O_WRONLY) != number)
      return;  // not even that can be opened
}

bool same_file(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return false;
  std::error_code ignored;
  return a == b || std::filesystem::equivalent(a, b, ignored) ||
         std::filesystem::weakly_canonical(a, ignored) == std::filesystem::weakly_canonical(b, ignored);
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

namespace {

// Names in a folder that `wanted` takes, sorted.
template <class Wanted>
Result<std::vector<std::string>> names_in(const std::string& path, const Wanted& wanted) {
  std::error_code error;
  std::filesystem::directory_iterator entry(path, error);
  std::vector<std::string> names;
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (wanted(*entry, name)) names.push_back(std::move(name));
  }
  if (error) return cannot("list the folder", path, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Result<std::vector<std::string>> list_folder(const std::string& path, std::string_view suffix) {
  return names_in(path, [suffix](const std::filesystem::directory_entry& entry, std::string_view name) {
    std::error_code ignored;  // a link that leads nowhere is not a plain file
    return name.ends_with(suffix) && entry.is_regular_file(ignored);
  });
}

Result<std::vector<std::string>> list_folders(const std::string& path) {
  return names_in(path, [](const std::filesystem::directory_entry& entry, std::string_view) {
    std::error_code ignored;
    return entry.is_directory(ignored);
  });
}

}  // namespace foretrain
