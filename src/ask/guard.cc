#include "ask/guard.h"

#include <new>
#include <system_error>

#include "base/check.h"

namespace foretrain {
namespace {

// What std::thread throws where no thread can be had; the standard library throws the same of locks that are misused,
// which would be ours.
bool is_want_of_threads(const std::system_error& error) {
  return error.code() == std::errc::resource_unavailable_try_again ||
         error.code() == std::errc::not_enough_memory;
}

}  // namespace

Error error_of(const std::exception_ptr& thrown) {
  Error error;
  error.kind = ErrorKind::kFault;
  try {
    std::rethrow_exception(thrown);
  } catch (const Fault& fault) {
    error.message = fault.what();
  } catch (const std::bad_alloc&) {
    error = {"out of memory", {}, {}, ErrorKind::kMachine};
  } catch (const std::system_error& refused) {
    if (is_want_of_threads(refused)) return {"the system gives no thread", {}, {}, ErrorKind::kMachine};
    error.message = std::string("foretrain: internal error: ") + refused.what();
  } catch (const std::exception& other) {
    error.message = std::string("foretrain: internal error: ") + other.what();
  } catch (...) {
    error.message = "foretrain: internal error";
  }
  return error;
}

}  // namespace foretrain
