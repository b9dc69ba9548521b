#include "base/streamed_file.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"

namespace foretrain {
namespace {

TEST_CASE("a streamed file is there when it is whole, and leaves nothing otherwise") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("foretrain_stream_" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const std::string path = folder / "rows.csv";
  {
    auto file = StreamedFile::open(path);
    REQUIRE(file);
    file->write("a,b\n");
  }
  CHECK(std::filesystem::is_empty(folder));
  auto file = StreamedFile::open(path);
  REQUIRE(file);
  file->write("a,b\n");
  CHECK_FALSE(is_file(path));
  file->write("1,2\n");
  CHECK(file->commit());
  CHECK(read_file(path, 100).value() == "a,b\n1,2\n");
  CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);
  CHECK_FALSE(StreamedFile::open(folder));  // a folder is not replaced
  CHECK_FALSE(StreamedFile::open((folder / "none" / "rows.csv").string()));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace foretrain
