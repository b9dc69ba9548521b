#include "base/text.h"

#include <doctest/doctest.h>

#include <limits>

namespace foretrain {
namespace {

TEST_CASE("n separators make n + 1 parts") {
  CHECK(split("a,,b", ',') == std::vector<std::string_view>{"a", "", "b"});
  CHECK(split("", ',') == std::vector<std::string_view>{""});
  CHECK(split(",", ',') == std::vector<std::string_view>{"", ""});
}

TEST_CASE("joining undoes splitting") {
  CHECK(join({"a", "", "b"}, ",") == "a,,b");
  CHECK(join({}, ",") == "");
}

TEST_CASE("trim takes white space off both ends only") {
  CHECK(trim(" \t a b\r\n") == "a b");
  CHECK(trim(" \n") == "");
}

TEST_CASE("an integer is digits and perhaps a minus, nothing else") {
  CHECK(parse_integer("42") == 42);
  CHECK(parse_integer("-42") == -42);
  CHECK(parse_integer("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
  for (const char* text :
       {"", "+1", " 1", "1 ", "1.0", "1e6", "1_000", "0x10", "9223372036854775808", "-", "a"}) {
    CAPTURE(text);
    CHECK(!parse_integer(text));
  }
}

TEST_CASE("a number is decimal, finite and alone") {
  CHECK(parse_number("1.5") == 1.5);
  CHECK(parse_number("-1e-3") == -1e-3);
  CHECK(parse_number("7") == 7.0);
  for (const char* text :
       {"", "+1", " 1", "1 ", "nan", "inf", "-inf", "infinity", "0x1p3", "1e999", "1.5x", "1,5"}) {
    CAPTURE(text);
    CHECK(!parse_number(text));
  }
}

TEST_CASE("printable text is one line and keeps what can be read") {
  CHECK(printable("caf\xc3\xa9 'x'") == "caf\xc3\xa9 'x'");
  CHECK(printable("a\nb\tc\x1b[0m\xff") == "a\\nb\\tc\\x1b[0m\\xff");
  CHECK(printable("\xc2\x9b") == "\\xc2\\x9b");
}

TEST_CASE("quoted text is cut after 60 characters, not in the middle of one") {
  CHECK(quoted("hidden") == "'hidden'");
  CHECK(quoted(std::string(60, 'x')) == "'" + std::string(60, 'x') + "'");
  CHECK(quoted(std::string(61, 'x')) == "'" + std::string(60, 'x') + "...'");
  CHECK(quoted(std::string(59, 'x') + "\xc3\xa9z") == "'" + std::string(59, 'x') + "\xc3\xa9...'");
}

TEST_CASE("times are told in the unit that needs three digits") {
  CHECK(human_seconds(Seconds(17.42)) == "17.4 s");
  CHECK(human_seconds(Seconds(0.310)) == "310 ms");
  CHECK(human_seconds(Seconds(4.2e-6)) == "4.2 us");
  CHECK(human_seconds(Seconds(75e-9)) == "75 ns");
  CHECK(human_seconds(Seconds(90.0)) == "90 s");
  CHECK(human_seconds(Seconds(600.0)) == "10 min");
  CHECK(human_seconds(Seconds(36000.0)) == "10 hours");
  CHECK(human_seconds(Seconds(3.1 * 86400.0)) == "3.1 days");
  CHECK(human_seconds(Seconds(12345.0 * 86400.0)) == "12,300 days");
  CHECK(human_seconds(Seconds(0.0)) == "0 s");
  CHECK(human_seconds(Seconds(-0.5)) == "-500 ms");
}

TEST_CASE("rounding up to a thousand moves on to the next unit") {
  CHECK(human_seconds(Seconds(0.9994)) == "999 ms");
  CHECK(human_seconds(Seconds(0.9997)) == "1 s");
  CHECK(human_count(999'400.0) == "999 k");
  CHECK(human_count(999'700.0) == "1 M");
}

TEST_CASE("bytes are told in powers of 1024") {
  CHECK(human_bytes(gib(61.2)) == "61.2 GiB");
  CHECK(human_bytes(mib(812.0)) == "812 MiB");
  CHECK(human_bytes(mib(1000.0)) == "0.977 GiB");
  CHECK(human_bytes(Bytes(512.0)) == "512 B");
  CHECK(human_bytes(Bytes(0.0)) == "0 B");
}

TEST_CASE("counts are told in thousands") {
  CHECK(human_count(20.6e9) == "20.6 B");
  CHECK(human_count(812e6) == "812 M");
  CHECK(human_count(12'345.0) == "12.3 k");
  CHECK(human_count(15e12) == "15 T");
  CHECK(human_count(7.0) == "7");
  CHECK(human_count(3e18) == "3,000,000 T");
  CHECK(human_count(3e24) == "3e+12 T");
}

TEST_CASE("what is no number is still told") {
  CHECK(human_seconds(Seconds(std::numeric_limits<double>::infinity())) == "inf s");
  CHECK(human_bytes(Bytes(std::numeric_limits<double>::quiet_NaN())) == "nan B");
}

TEST_CASE("commas stand between groups of three digits") {
  CHECK(with_commas(0) == "0");
  CHECK(with_commas(999) == "999");
  CHECK(with_commas(1'234'567) == "1,234,567");
  CHECK(with_commas(-123) == "-123");
  CHECK(with_commas(-1234) == "-1,234");
  CHECK(with_commas(std::numeric_limits<std::int64_t>::min()) == "-9,223,372,036,854,775,808");
}

TEST_CASE("counts of tokens end in k or M") {
  CHECK(parse_count("4096") == 4096);
  CHECK(parse_count("128k") == 131072);
  CHECK(parse_count("4M") == 4'000'000);
  CHECK_FALSE(parse_count("k"));
  CHECK_FALSE(parse_count("1.5k"));
  CHECK_FALSE(parse_count("4G"));
  CHECK_FALSE(parse_count("9223372036854775807k"));
}

}  // namespace
}  // namespace foretrain
