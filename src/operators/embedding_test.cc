#include "operators/embedding.h"

#include <doctest/doctest.h>

using namespace foretrain;

TEST_CASE("rows of an embedding are gathered by blocks of 4 KiB") {
  CHECK(gather_blocks(embedding({.tokens = 10, .width = 2048, .vocab = 100})) == 10);
  CHECK(gather_blocks(embedding({.tokens = 10, .width = 2049, .vocab = 100})) == 20);
}
