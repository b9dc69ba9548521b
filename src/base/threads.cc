#include "base/threads.h"

#include <exception>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "base/check.h"

namespace foretrain {

int run_on_threads(int wanted, const std::function<void(int)>& work) {
  CHECK_THAT(wanted >= 1);
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(wanted));
  const auto call = [&](int i) {
    try {
      work(i);
    } catch (...) {
      thrown[static_cast<std::size_t>(i)] = std::current_exception();
    }
  };
  int made = 1;
  {
    std::vector<std::jthread> threads;
    try {
      for (; made < wanted; ++made) threads.emplace_back(call, made);
    } catch (const std::system_error&) {  // no more threads to be had, or no memory for their stacks
    } catch (const std::bad_alloc&) {
    }
    call(0);
  }
  for (const std::exception_ptr& exception : thrown)
    if (exception) std::rethrow_exception(exception);
  return made;
}

}  // namespace foretrain
