// The main program of all doctest programs.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <stdlib.h>

#include <string>

#include "base/testing.h"

int main(int argc, char** argv) {
  // Property tests draw the same values every time, a hundred for each property.
  const std::string drawn = "seed=1 max_success=" + std::to_string(foretrain::trials(100));
  setenv("RC_PARAMS", drawn.c_str(), /*overwrite=*/0);
  return doctest::Context(argc, argv).run();
}
