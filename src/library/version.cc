#include <string_view>

#include <foretrain/foretrain.h>

namespace {

// "0.1.0" as foretrain.h counts it.
constexpr int number_of(std::string_view version) {
  int parts[3] = {}, part = 0;
  for (const char c : version) c == '.' ? ++part : parts[part] = 10 * parts[part] + (c - '0');
  return parts[0] * 10000 + parts[1] * 100 + parts[2];
}
static_assert(number_of(FORETRAIN_VERSION) == FORETRAIN_VERSION_NUMBER,
              "the version of CMakeLists.txt is another than that of foretrain.h");

}  // namespace

int foretrain_version_number() { return FORETRAIN_VERSION_NUMBER; }
const char* foretrain_version() { return FORETRAIN_VERSION; }
