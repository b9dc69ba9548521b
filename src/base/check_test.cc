#include "base/check.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

namespace foretrain {
namespace {

struct Ending {
  int signal = 0;
  std::string said;
};

// Runs the check in a child process, for it does not come back.
Ending fail_check_in_child() {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    std::signal(SIGABRT, SIG_DFL);  // doctest's own handler would report a failed test
    CHECK_THAT(1 + 1 == 3);
    std::_Exit(0);
  }
  close(ends[1]);
  Ending ending;
  char buffer[256];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
    ending.said.append(buffer, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) ending.signal = WTERMSIG(status);
  return ending;
}

TEST_CASE("a check that holds does nothing") { CHECK_THAT(1 + 1 == 2); }

TEST_CASE("a check that fails names the condition and the place, and aborts") {
  const Ending ending = fail_check_in_child();
  CHECK(ending.signal == SIGABRT);
  CHECK(ending.said.find("check_test.cc:") != std::string::npos);
  CHECK(ending.said.find("1 + 1 == 3") != std::string::npos);
}

}  // namespace
}  // namespace foretrain
