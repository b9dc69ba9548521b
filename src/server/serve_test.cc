// A whole server, asked by several clients at once, for the thread sanitizer.
#include "server/serve.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "base/threads.h"

namespace foretrain {
namespace {

using namespace std::chrono_literals;

TEST_SUITE_BEGIN("threads");

constexpr const char* kRun = R"({"model": "gpt2", "cluster": "dgx-a100", "gpus": 4, "global_batch": 64})";
constexpr const char* kSearch =
    R"({"model": "gpt2", "cluster": "dgx-a100", "gpus": 4, "global_batch": 64, "set": ["pp=1", "zero=0,1"]})";
constexpr const char* kLong =
    R"({"model": "llama-3-70b", "cluster": "dgx-h100", "gpus": "512..1024", "global_batch": 1024, "seq": 8192})";

std::string request(const std::string& method, const std::string& path, const std::string& body = {}) {
  return fmt::format(
      "{} {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n"
      "Connection: close\r\n\r\n{}",
      method, path, body.size(), body);
}

// Sent in two pieces, so that one thread reads what others are about to answer.
Descriptor sent(int port, const std::string& bytes) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  const std::size_t half = bytes.size() / 2;
  for (const std::string_view part :
       {std::string_view(bytes).substr(0, half), std::string_view(bytes).substr(half)})
    if (::send(socket.number(), part.data(), part.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(part.size()))
      return {};
  return socket;
}

std::string asked(int port, const std::string& bytes) {
  const Descriptor socket = sent(port, bytes);
  std::string out;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::recv(socket.number(), buffer, sizeof buffer, 0)) > 0;)
    out.append(buffer, static_cast<std::size_t>(got));
  return out;
}

// The answer without its head.
std::string body_of(const std::string& answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "" : answer.substr(end + 4);
}

std::string id_of(const std::string& answer) {
  const std::string mark = "\"id\": \"";
  const std::size_t begin = answer.find(mark);
  return begin == std::string::npos ? "" : answer.substr(begin + mark.size(), 32);
}

class Running {
 public:
  Running() {
    while (port_ == 0 && !ended_) std::this_thread::sleep_for(1ms);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { stop_ = true; }

  int port() const { return port_; }
  // Ends it, and tells whether it did so in order.
  bool end() {
    stop_ = true;
    while (!ended_) std::this_thread::sleep_for(1ms);
    return went_well_;
  }
  std::size_t lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  void serve_all() {
    const auto done = serve(
        no_files(), options_, stop_, [this](int port) { port_ = port; },
        [this](const std::string&) {
          const std::lock_guard lock(mutex_);
          ++lines_;
        });
    went_well_ = done.has_value();
    ended_ = true;
  }

  const ServeOptions options_{.patience = 60s, .give_up = {}};  // sanitizers are slow
  std::atomic<bool> stop_ = false, ended_ = false, went_well_ = false;
  std::atomic<int> port_ = 0;
  std::mutex mutex_;
  std::size_t lines_ = 0;
  Beside thread_{[this] { serve_all(); }};  // last: it uses all of these
};

TEST_CASE("clients at once: each gets its own answer, while others leave, search and cancel") {
  Running server;
  REQUIRE(server.port() > 0);
  const std::string alone = body_of(asked(server.port(), request("POST", "/api/v1/predict", kRun)));
  REQUIRE(alone.find("step_s") != std::string::npos);
  std::atomic<int> wrong = 0;
  run_on_threads(4, [&](int thread) {
    for (int i = 0; i < 4; ++i) {
      if (body_of(asked(server.port(), request("POST", "/api/v1/predict", kRun))) != alone) ++wrong;
      if (asked(server.port(), request("GET", "/")).find("200 OK") == std::string::npos) ++wrong;
      // Who leaves before his answer.
      sent(server.port(), request("POST", "/api/v1/over",
                                  R"({"model": "gpt2", "cluster": "dgx-a100", "gpus": 4, "global_batch": 64,)"
                                  R"( "over": "seq=128..1024/16"})"));
    }
    const std::string id =
        id_of(asked(server.port(), request("POST", "/api/v1/search", thread % 2 == 0 ? kSearch : kLong)));
    if (id.empty()) ++wrong;
    const std::string path = "/api/v1/search/" + id;
    asked(server.port(), request("GET", path));
    if (thread % 2 == 1 && asked(server.port(), request("DELETE", path)).find("200 OK") == std::string::npos)
      ++wrong;
    while (thread % 2 == 0) {
      const std::string look = asked(server.port(), request("GET", path));
      if (look.find("\"state\": \"done\"") != std::string::npos) break;
      if (look.find("200 OK") == std::string::npos && ++wrong > 0) break;
      std::this_thread::sleep_for(5ms);
    }
  });
  CHECK(wrong == 0);
  CHECK(server.end());
  CHECK(server.lines() >= 4 * (4 * 2 + 2));
}

TEST_CASE("a server that is ended while it searches stops the search") {
  Running server;
  REQUIRE(server.port() > 0);
  const std::string id = id_of(asked(server.port(), request("POST", "/api/v1/search", kLong)));
  REQUIRE(id.size() == 32);
  CHECK(server.end());
}

TEST_SUITE_END();

}  // namespace
}  // namespace foretrain
