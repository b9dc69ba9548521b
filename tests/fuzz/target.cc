// libFuzzer's entry for one reader, which FORETRAIN_READER names.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "readers.h"

// Libraries that are not instrumented write into our strings and vectors.
extern "C" const char* __asan_default_options() { return "detect_container_overflow=0"; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const foretrain::Reader* const reader = foretrain::find_reader(FORETRAIN_READER);
  if (reader == nullptr) std::abort();
  reader->read(std::string(data, data + size));
  return 0;
}
