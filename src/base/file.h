// Files on the disk, bounded on the way in and atomic on the way out. Only the programs and tests write, and
// read through here: the library is given contents, or a Files (base/files.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace foretrain {

// Refuses what is missing, not a plain file (a folder, a device, a pipe), unreadable, or larger than
// max_bytes.
Result<std::string> read_file(const std::string& path, std::size_t max_bytes);

// Written beside (path + ".partial." + process id), then renamed: a reader sees the old file or the new one,
// never half, even where two processes write the same file. A link stays one: what it leads to is written. Refuses to
// replace what is not a plain file.
Result<void> write_file(const std::string& path, std::string_view content);

// Where a path leads that may be a link, also to what is not there yet: the link stays, its target is written.
std::string behind_links(std::string path);

// What write_file would refuse, as far as it can be known beforehand: for work that ends in a file.
Result<void> check_writable(const std::string& path);

// A folder that is not there yet appears with its files in it or not at all; in one that is there each file
// is replaced, and what else lies in it stays. A file's name may lead into a folder below.
Result<void> write_folder(const std::string& folder, const std::vector<OutputFile>& files);

// The same for files that belong together: all are replaced in one step, so that nobody sees some of them
// old. A file's name may lead into a folder below. Of what lies in a folder that is there, `owned` entries
// go and the others stay; behind a link it is the folder that changes, not the link.
Result<void> replace_folder(const std::string& folder, const std::vector<OutputFile>& files,
                            const std::vector<std::string>& owned);

// However they are written: "a.json", "./a.json", a link. An empty path is no file.
bool same_file(const std::string& a, const std::string& b);

bool exists(const std::string& path);  // as a file, a folder, or a link that may lead nowhere

// The error of a system call at a file: cannot("open", "a.yaml", ENOENT) is "a.yaml: error: cannot open: no
// such file or directory".
tl::unexpected<Error> cannot(std::string_view what, const std::string& path, int error_number);

// Removes a temporary file or folder at the end of its scope, also where memory runs out on the way there.
// One that was renamed by then is no longer there, and stays. The path has to outlive it.
class Removal {
 public:
  explicit Removal(const std::string& path) : path_(path) {}
  Removal(const Removal&) = delete;
  Removal& operator=(const Removal&) = delete;
  ~Removal();

 private:
  const std::string& path_;
};

// For a program's beginning: where stdin, stdout or stderr is closed, no file or socket that is opened later may get its number
// and be read or written as it. What is written to a stdout that was closed, or read of such a stdin, fails as before.
void keep_standard_numbers();

bool is_folder(const std::string& path);
bool is_file(const std::string& path);

// Names of the plain files in a folder that end in `suffix`, sorted.
Result<std::vector<std::string>> list_folder(const std::string& path, std::string_view suffix);
Result<std::vector<std::string>> list_folders(const std::string& path);  // the folders in it, likewise

}  // namespace foretrain
