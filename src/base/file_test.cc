#include "base/file.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/scratch.h"

namespace foretrain {
namespace {

TEST_CASE("what is written reads back, replaces the old, and leaves nothing beside it") {
  const Scratch folder;
  const std::string path = folder / "a.txt", bytes("a\0b\n\xff", 5);
  REQUIRE(write_file(path, "old and longer"));
  REQUIRE(write_file(path, bytes));
  CHECK(read_file(path, 5).value() == bytes);
  CHECK(folder.entries() == 1);
  REQUIRE(write_file(path, ""));
  CHECK(read_file(path, 0).value() == "");
}

TEST_CASE("a file one byte over the limit is refused") {
  const Scratch folder;
  REQUIRE(write_file(folder / "a", "12345"));
  const auto content = read_file(folder / "a", 4);
  REQUIRE(!content);
  CHECK(content.error().message == "found 5 bytes, expected at most 4");
  CHECK(content.error().at.file == folder / "a");
}

TEST_CASE("the limit holds where a file hides its size") {
  REQUIRE(read_file("/proc/self/status", 1 << 20));  // stat() says 0 bytes
  CHECK(!read_file("/proc/self/status", 10));
}

TEST_CASE("only plain files are read") {
  const Scratch folder;
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(read_file(folder / "none", 9).error().message == "cannot open: no such file or directory");
  CHECK(read_file(folder / ".", 9).error().message == "found a folder, expected a file");
  CHECK(read_file(folder / "pipe", 9).error().message == "found a device or pipe, expected a plain file");
  CHECK(read_file("/dev/zero", 9).error().message == "found a device or pipe, expected a plain file");
  CHECK(read_file("", 9).error().message == "found an empty path, expected the name of a file");
  CHECK(!read_file(std::string("/proc/self/status\0x", 19), 1 << 20));
}

TEST_CASE("only plain files are replaced, and a failure leaves nothing behind") {
  const Scratch folder;
  CHECK(write_file(folder / "none/a", "x").error().message == "cannot write: no such file or directory");
  CHECK(write_file(folder / ".", "x").error().message == "found a folder, expected a file");
  CHECK(write_file("/dev/null", "x").error().message == "found a device or pipe, expected a plain file");
  CHECK(!write_file(folder / std::string(300, 'n'), "x"));  // a name the file system refuses
  CHECK(folder.entries() == 0);
}

TEST_CASE("a disk that takes no more is an error, the old file stays, and half a new one does not") {
  const Scratch folder;
  REQUIRE(write_file(folder / "a", "old"));
  // The nearest to a full disk that needs no disk: writes past a thousand bytes fail.
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{.rlim_cur = 1000, .rlim_max = before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &tight) == 0);
  const auto written = write_file(folder / "a", std::string(2000, 'x'));
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handler);
  REQUIRE(!written);
  CHECK(written.error().message == "cannot write: file too large");
  CHECK(read_file(folder / "a", 100).value() == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE("a link planted in the temporary's place is not followed") {
  const Scratch folder;
  REQUIRE(write_file(folder / "victim", "untouched"));
  const std::string partial = folder / ("a.partial." + std::to_string(getpid()));
  REQUIRE(symlink((folder / "victim").c_str(), partial.c_str()) == 0);
  CHECK(!write_file(folder / "a", "x"));
  CHECK(read_file(folder / "victim", 100).value() == "untouched");
}

TEST_CASE("behind a link its target is written, there or not yet, and the link stays") {
  const Scratch scratch;
  std::filesystem::create_symlink("target", scratch / "link");
  std::filesystem::create_symlink("link", scratch / "further");
  for (const std::string text : {"first", "second"}) {
    REQUIRE(write_file(scratch / "further", text));
    CHECK(std::filesystem::is_symlink(scratch / "further"));
    CHECK(std::filesystem::is_symlink(scratch / "link"));
    CHECK(read_file(scratch / "target", 100) == text);
  }
  CHECK(scratch.entries() == 3);
}

TEST_CASE("what cannot be written is known beforehand, and nothing is written to find out") {
  const Scratch folder;
  REQUIRE(write_file(folder / "a", "old"));
  CHECK(check_writable(folder / "a"));
  CHECK(check_writable(folder / "new"));
  CHECK(check_writable(folder / ".").error().message == "found a folder, expected a file");
  CHECK(check_writable(folder / "new/").error().message == "found a folder, expected a file");
  CHECK(check_writable("/dev/null").error().message == "found a device or pipe, expected a plain file");
  CHECK(check_writable(folder / "none/a").error().message.starts_with("found no folder "));
  CHECK(check_writable(folder / "a/b").error().message.starts_with("found no folder "));
  CHECK(check_writable("").error().message == "found an empty path, expected the name of a file");
  CHECK(folder.entries() == 1);
}

TEST_CASE("files and folders are told apart, and from what is not there") {
  const Scratch folder;
  REQUIRE(write_file(folder / "a", ""));
  CHECK(is_file(folder / "a"));
  CHECK(!is_folder(folder / "a"));
  CHECK(is_folder(folder / "."));
  CHECK(!is_file(folder / "."));
  CHECK(!is_file(folder / "none"));
  CHECK(!is_folder(folder / "none"));
}

TEST_CASE("a file is the same however its path is written") {
  const Scratch folder;
  REQUIRE(write_file(folder / "a", ""));
  REQUIRE(symlink("a", (folder / "link").c_str()) == 0);
  CHECK(same_file(folder / "a", folder / "./a"));
  CHECK(same_file(folder / "a", folder / "link"));
  CHECK(same_file(folder / "new", folder / "./new"));
  CHECK_FALSE(same_file(folder / "a", folder / "b"));
  CHECK_FALSE(same_file("", ""));
}

TEST_CASE("a folder lists its plain files by suffix, sorted") {
  const Scratch folder;
  for (const char* name : {"b.yaml", "a.yaml", "c.csv"}) REQUIRE(write_file(folder / name, ""));
  std::filesystem::create_directory(folder / "d.yaml");
  CHECK(list_folder(folder / ".", ".yaml").value() == std::vector<std::string>{"a.yaml", "b.yaml"});
  CHECK(list_folder(folder / "none", "").error().message ==
        "cannot list the folder: no such file or directory");
  CHECK(list_folder(folder / "a.yaml", "").error().message == "cannot list the folder: not a directory");
}

TEST_CASE("a new folder appears whole or not at all; in one that is there other files stay") {
  const Scratch folder;
  const std::string made = folder / "made";
  REQUIRE(write_folder(made, {{"a", "1"}, {"b", "2"}}));
  CHECK(read_file(made + "/b", 10).value() == "2");
  REQUIRE(write_folder(made, {{"b", "3"}}));
  CHECK(read_file(made + "/a", 10).value() == "1");
  CHECK(read_file(made + "/b", 10).value() == "3");
  REQUIRE(write_folder(folder / "deep", {{"b/c/d", "4"}}));
  CHECK(read_file(folder / "deep/b/c/d", 10).value() == "4");
  // The second file cannot be written, as the first is no folder: nothing is left, nor of the first.
  CHECK_FALSE(write_folder(folder / "none", {{"a", "1"}, {"a/b", "2"}}));
  CHECK_FALSE(write_folder(folder / "missing/none", {{"a", "1"}}));
  CHECK(folder.entries() == 2);
}

TEST_CASE("a folder is replaced in one step, and what else lies in it stays") {
  const Scratch scratch;
  const std::string folder = scratch / "made";
  REQUIRE(replace_folder(folder, {{"a", "1"}, {"below/b", "2"}}, {"a", "below"}));
  CHECK(read_file(folder + "/below/b", 10).value() == "2");
  REQUIRE(write_file(folder + "/README.md", "mine"));
  REQUIRE(replace_folder(folder, {{"a", "3"}}, {"a", "below"}));
  CHECK(read_file(folder + "/a", 10).value() == "3");
  CHECK(read_file(folder + "/README.md", 10).value() == "mine");
  CHECK_FALSE(exists(folder + "/below"));  // it was owned, and is not there any more
  CHECK(list_folder(folder, "").value() == std::vector<std::string>{"README.md", "a"});
  CHECK(list_folders(scratch / ".").value() == std::vector<std::string>{"made"});
}

TEST_CASE("behind a link it is the folder that is replaced") {
  const Scratch scratch;
  REQUIRE(replace_folder(scratch / "made", {{"a", "1"}}, {"a"}));
  REQUIRE(symlink((scratch / "made").c_str(), (scratch / "link").c_str()) == 0);
  REQUIRE(replace_folder(scratch / "link", {{"a", "2"}}, {"a"}));
  CHECK(std::filesystem::is_symlink(scratch / "link"));
  CHECK(read_file(scratch / "made/a", 10).value() == "2");
  CHECK(scratch.entries() == 2);
  CHECK_FALSE(replace_folder(scratch / "none/made", {{"a", "1"}}, {"a"}));
}

}  // namespace
}  // namespace foretrain
