#include "base/gzip.h"

#include <doctest/doctest.h>

using namespace foretrain;

TEST_CASE("what was packed unpacks, also several members") {
  const std::string text(100'000, 'x');
  const std::string packed = gzip(text);
  CHECK(is_gzip(packed));
  CHECK(!is_gzip(text));
  CHECK(gunzip(packed, 1 << 20, "f").value() == text);
  CHECK(gunzip(packed + gzip("end") + std::string(512, '\0'), 1 << 20, "f").value() == text + "end");
  CHECK(gunzip(gzip(""), 1 << 20, "f").value().empty());
}

TEST_CASE("broken, cut and growing data are refused") {
  const std::string packed = gzip(std::string(3 << 20, 'x'));
  CHECK(gunzip(packed, 1 << 20, "f").error().text() ==
        "f: error: found more than 1 MiB unpacked, expected at most that");
  CHECK(gunzip(packed.substr(0, packed.size() / 2), 8 << 20, "f").error().text() ==
        "f: error: found compressed data that is cut short, expected all of it");
  std::string broken = packed;
  broken[broken.size() / 2] = static_cast<char>(~broken[broken.size() / 2]);
  CHECK(!gunzip(broken, 8 << 20, "f"));
  CHECK(!gunzip("\x1f\x8b no", 8 << 20, "f"));
}
