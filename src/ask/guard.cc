#include "ask/guard.h"

#include <new>

#include "base/check.h"

namespace foretrain {

Error error_of(const std::exception_ptr& thrown) {
  Error error;
  error.kind = ErrorKind::kFault;
  try {
    std::rethrow_exception(thrown);
  } catch (const Fault& fault) {
    error.message = fault.what();
  } catch (const std::bad_alloc&) {
    error = {"out of memory", {}, {}, ErrorKind::kMachine};
  } catch (const std::exception& other) {
    error.message = std::string("foretrain: internal error: ") + other.what();
  } catch (...) {
    error.message = "foretrain: internal error";
  }
  return error;
}

}  // namespace foretrain
