#include "ask/words.h"

#include <doctest/doctest.h>

namespace foretrain {
namespace {

TEST_CASE("numbers as people write them") {
  CHECK(count_word("gpus", "64").value() == 64);
  CHECK(count_word("gpus", "").value() == 0);
  CHECK(amount_word("tokens", "1.5T").value() == 1.5e12);
  CHECK(amount_word("tokens", "300e9").value() == 300e9);
  CHECK(amount_word("tokens", "10m").value() == 10e6);
  CHECK(duration_word("deadline", "30d").value() == 30 * 86400);
  CHECK(duration_word("deadline", "90m").value() == 5400);
}

TEST_CASE("other words are refused, and the field is named") {
  for (const char* word : {"0", "-8", "12x", "1.5", "99999999999999999999"}) {
    CHECK_FALSE(count_word("gpus", word));
    CHECK(count_word("gpus", word).error().field == "gpus");
  }
  CHECK(bounded_count_word("top", "5000", 1000).error().text() ==
        "foretrain: error: top: found 5000, expected at most 1000");
  for (const char* word : {"", "0", "T", "300Q", "1e19"})
    CHECK(amount_word("tokens", word).error().field == "tokens");
  for (const char* word : {"", "d", "30", "soon", "-1h"})
    CHECK(duration_word("deadline", word).error().field == "deadline");
}

}  // namespace
}  // namespace foretrain
