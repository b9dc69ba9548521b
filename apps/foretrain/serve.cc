// foretrain serve: the page and the questions that it asks, for a browser on this machine.
#include "server/serve.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>

#include "base/text.h"
#include "command.h"
#include "output.h"

extern char** environ;  // NOLINT: as POSIX has it, for what is spawned

namespace foretrain {
namespace {

constexpr std::optional<std::int64_t> kUsualPort = 8377;
constexpr std::int64_t kMostPort = 65535;

std::atomic<bool> stop_asked = false;

// The first signal ends what is under way in good order, the second at once.
extern "C" void ask_to_end(int) {
  stop_asked = true;
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
}

// "2026-11-18T19:20:05Z"
std::string moment() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  return std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts) > 0 ? text.data() : "";
}

// Whatever this system opens addresses with; without such a program nothing happens.
void open_in_browser(std::string address) {
  std::string program = "xdg-open";
  char* const words[] = {program.data(), address.data(), nullptr};
  pid_t child = 0;
  if (::posix_spawnp(&child, program.c_str(), nullptr, nullptr, words, environ) != 0)
    std::fprintf(stderr, "foretrain: found no %s: open the address yourself\n", program.c_str());
}

class Serve final : public Command {
 public:
  const char* name() const override { return "serve"; }
  const char* what() const override { return "The page: answers in a browser, and over HTTP in JSON"; }
  const char* example() const override { return "foretrain serve --open"; }
  void declare(Options& options) override {
    options.option("--port", "N", port_, "Where to listen: 8377 without it; 0: a port that is free");
    options.option("--host", "H", host_,
                   "The address to listen at: without it 127.0.0.1, which nobody but this machine reaches");
    options.flag("--open", open_, "Also open the page in a browser");
  }

  Result<int> run(Session& session, Team*) override {
    ServeOptions options;
    const auto port = port_.empty() ? kUsualPort : parse_integer(port_);
    if (!port || *port < 0 || *port > kMostPort)
      return fail_field("port",
                        fmt::format("found {}, expected 0 to {}", foretrain::quoted(port_), kMostPort));
    options.port = static_cast<int>(*port);
    if (!host_.empty()) options.host = host_;
    options.presets = without_slashes(session.presets());
    // Nothing is held that could be lost: what would go on for long is left as a killed server leaves it.
    options.give_up = [] { std::_Exit(0); };
    signal(SIGINT, ask_to_end);
    signal(SIGTERM, ask_to_end);
    TRY(serve(
        session.files(), options, stop_asked, [&](int at) { tell_start(options.host, at); },
        [](const std::string& line) { std::fprintf(stderr, "%s %s\n", moment().c_str(), line.c_str()); }));
    return 0;
  }

 private:
  void tell_start(const std::string& host, int port) const {
    const std::string shown = host == "127.0.0.1"                   ? "localhost"
                              : host.find(':') == std::string::npos ? host
                                                                    : "[" + host + "]";
    const std::string address = fmt::format("http://{}:{}/", shown, port);
    if (!is_loopback(host))
      std::fprintf(
          stderr,
          "foretrain: warning: %s is reached from other machines, without a password: who reaches it can "
          "ask anything and use this machine's time\n",
          printable(host).c_str());
    show_text(fmt::format("foretrain serves {} (Ctrl-C ends it)\n", address));
    if (open_) open_in_browser(address);
  }

  std::string port_, host_;
  bool open_ = false;
};

}  // namespace

std::unique_ptr<Command> serve_command() { return std::make_unique<Serve>(); }

}  // namespace foretrain
