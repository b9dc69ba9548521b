#include "base/files.h"

#include <doctest/doctest.h>

#include "base/file.h"
#include "base/scratch.h"

namespace foretrain {
namespace {

TEST_CASE("the disk reads what lies there") {
  const Scratch folder;
  REQUIRE(write_file(folder / "a.csv", "1"));
  REQUIRE(write_file(folder / "b.csv", "2"));
  REQUIRE(write_file(folder / "c.txt", "3"));
  CHECK(disk().is_file(folder / "a.csv"));
  CHECK(disk().is_folder(folder / "."));
  const auto one = read_sources(disk(), folder / "c.txt", ".csv", 9);
  REQUIRE(one);
  CHECK_FALSE(one->folder);
  CHECK(one->files.at(0).text == "3");
  const auto all = read_sources(disk(), folder / "", ".csv", 9);
  REQUIRE(all);
  CHECK(all->folder);
  REQUIRE(all->files.size() == 2);
  CHECK(all->files[1].name == folder / "b.csv");
  CHECK(all->files[1].text == "2");
  CHECK_FALSE(read_sources(disk(), folder / "none", ".csv", 9));
}

TEST_CASE("where there are no files, none is known and none is read") {
  CHECK_FALSE(no_files().is_file("/proc/self/status"));
  CHECK_FALSE(no_files().is_folder("/"));
  CHECK(no_files().read("/proc/self/status", 1 << 20).error().text() ==
        "/proc/self/status: error: found a path, expected a name: no files are read here");
  CHECK_FALSE(no_files().list("/", ""));
  CHECK_FALSE(no_files().folders("/"));
  CHECK_FALSE(read_sources(no_files(), "/proc/self/status", "", 1 << 20));
}

TEST_CASE("a path has a folder and a name") {
  CHECK(file_name("a/b.yaml") == "b.yaml");
  CHECK(file_name("b.yaml") == "b.yaml");
  CHECK(folder_of("a/b.yaml") == "a");
  CHECK(folder_of("/b.yaml") == "/");
  CHECK(folder_of("b.yaml") == "");
}

}  // namespace
}  // namespace foretrain
