// replay CORPUS: each file of CORPUS/READER through that reader. Every reader has some, and every folder a reader.
#include <fmt/format.h>

#include "base/file.h"
#include "readers.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: replay CORPUS\n");
    return 2;
  }
  const std::string corpus = argv[1];
  int faults = 0;
  for (const foretrain::Reader& reader : foretrain::readers()) {
    const std::string folder = fmt::format("{}/{}", corpus, reader.name);
    const auto files = foretrain::list_folder(folder, "");
    if (!files || files->empty()) {
      fmt::print(stderr, "{}: expected inputs of the reader {}\n", folder, reader.name);
      ++faults;
      continue;
    }
    for (const std::string& file : *files) {
      const auto bytes = foretrain::read_file(folder + "/" + file, 1 << 20);
      if (!bytes) {
        fmt::print(stderr, "{}\n", bytes.error().text());
        ++faults;
        continue;
      }
      fmt::print(stderr, "{}/{}\n", reader.name, file);  // so that the last line names one that crashes
      reader.read(*bytes);
    }
  }
  return faults == 0 ? 0 : 1;
}
