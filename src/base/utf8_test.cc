#include "base/utf8.h"

#include <doctest/doctest.h>

namespace foretrain {
namespace {

TEST_CASE("well-formed characters take one to four bytes") {
  CHECK(utf8_length("a") == 1);
  CHECK(utf8_length("\xc3\xa9x") == 2);         // U+00E9
  CHECK(utf8_length("\xe2\x82\xac") == 3);      // U+20AC
  CHECK(utf8_length("\xf0\x9f\x9a\x80") == 4);  // U+1F680
}

TEST_CASE("malformed characters have length 0") {
  CHECK(utf8_length("") == 0);
  CHECK(utf8_length("\x80") == 0);              // no lead byte
  CHECK(utf8_length("\xc3") == 0);              // cut off
  CHECK(utf8_length("\xc3(") == 0);             // no continuation
  CHECK(utf8_length("\xc0\x80") == 0);          // NUL in two bytes
  CHECK(utf8_length("\xe0\x80\xaf") == 0);      // '/' in three
  CHECK(utf8_length("\xed\xa0\x80") == 0);      // half a surrogate pair
  CHECK(utf8_length("\xf0\x80\x80\xaf") == 0);  // '/' in four
  CHECK(utf8_length("\xf4\x90\x80\x80") == 0);  // past U+10FFFF
  CHECK(utf8_length("\xff") == 0);
}

TEST_CASE("control characters and what reorders a line are not printable") {
  CHECK(utf8_printable(" "));
  CHECK(utf8_printable("\xc3\xa9"));
  CHECK(utf8_printable("\xf0\x9f\x9a\x80"));
  CHECK(!utf8_printable("\n"));
  CHECK(!utf8_printable("\x7f"));
  CHECK(!utf8_printable("\xc2\x9b"));      // U+009B, the one-character form of ESC [
  CHECK(!utf8_printable("\xe2\x80\xa8"));  // U+2028, line separator
  CHECK(!utf8_printable("\xe2\x80\xae"));  // U+202E, right-to-left override
  CHECK(!utf8_printable("\xe2\x81\xa6"));  // U+2066, isolate
  CHECK(!utf8_printable("\xff"));
}

}  // namespace
}  // namespace foretrain
