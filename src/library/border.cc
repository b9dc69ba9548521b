#include "library/border.h"

#include <cstdlib>
#include <cstring>
#include <string>

#include <foretrain/foretrain.h>
#include "ask/guard.h"
#include "wire/error_json.h"

namespace foretrain {
namespace {

thread_local std::string last_error;

// What is said where there is no memory to say more.
constexpr const char* kNoMemory =
    R"({"error": {"message": "out of memory", "field": null, "file": null, "line": null, "column": null, "kind": "machine"}})";
thread_local bool no_memory = false;

}  // namespace

void note_last_error(const Error& error) noexcept {
  try {
    last_error = error_json(error);
    no_memory = false;
  } catch (...) {
    no_memory = true;
  }
}

void note_last_error(const std::exception_ptr& thrown) noexcept {
  try {
    note_last_error(error_of(thrown));
  } catch (...) {
    no_memory = true;
  }
}

Result<char*> given_away(std::string_view text) {
  char* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) return tl::unexpected(Error{"out of memory", {}, {}, ErrorKind::kMachine});
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

Result<void> present(const void* pointer, std::string_view name) {
  if (pointer != nullptr) return {};
  return fail_field(name, "found NULL");
}

}  // namespace foretrain

const char* foretrain_last_error() {
  using namespace foretrain;
  if (no_memory) return kNoMemory;
  return last_error.empty() ? "{}" : last_error.c_str();
}

void foretrain_free(char* text) { std::free(text); }
