#include "server/connection.h"

#include <doctest/doctest.h>

namespace foretrain {
namespace {

using namespace std::chrono_literals;
using State = Connection::State;

constexpr const char* kGet = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

struct Fixture {
  Connection::Clock::time_point now{};
  Connection connection{{}, [](const HttpRequest&) { return BodyLimit{1 << 20, 1 << 20}; }, now};

  // Writes all that there is, so many bytes at a time.
  std::string written(std::size_t each = 1 << 20) {
    std::string out;
    while (connection.state() == State::kWriting) {
      const std::string some(connection.to_write().substr(0, each));
      out += some;
      connection.wrote(some.size(), now);
    }
    return out;
  }
};

TEST_CASE("a connection: request, answer, the next request") {
  Fixture f;
  for (int i = 0; i < 3; ++i) {
    const auto request = f.connection.read(kGet, f.now);
    REQUIRE(request);
    CHECK(f.connection.state() == State::kWorking);
    f.connection.answer({.body = "{}"}, f.now);
    const std::string answer = f.written(7);
    CHECK(answer.starts_with("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"));
    CHECK(answer.ends_with("\r\n\r\n{}"));
    CHECK(f.connection.state() == State::kReading);
  }
}

TEST_CASE("a connection: two requests at once are answered one after the other") {
  Fixture f;
  REQUIRE(f.connection.read(std::string(kGet) + kGet, f.now));
  f.connection.answer({}, f.now);
  std::optional<HttpRequest> second;
  while (!second && f.connection.state() == State::kWriting)
    second = f.connection.wrote(f.connection.to_write().size(), f.now);
  CHECK(second);
  CHECK(f.connection.state() == State::kWorking);
}

TEST_CASE(
    "who does not move is sent away: without a byte, in the head, in the body, by single bytes, in the "
    "answer") {
  {
    Fixture f;
    f.connection.tick(f.now + 1999ms);
    CHECK(f.connection.state() == State::kReading);
    f.connection.tick(f.now + 2000ms);
    CHECK(f.connection.state() == State::kClosed);
  }
  {
    Fixture f;  // a byte of the head every second: the head as a whole has two
    f.connection.read("G", f.now);
    f.connection.read("E", f.now + 1s);
    f.connection.tick(f.now + 2s);
    CHECK(f.written().starts_with("HTTP/1.1 408"));
    CHECK(f.connection.state() == State::kLingering);
    f.connection.tick(f.now + 3s);
    CHECK(f.connection.state() == State::kClosed);
  }
  {
    Fixture f;  // a body that says it is longer than what comes
    CHECK_FALSE(f.connection.read("POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc", f.now));
    f.connection.tick(f.now + 2s);
    CHECK(f.connection.status() == 408);
  }
  {
    Fixture f;  // a byte a second is a body that never ends, however long it says that it is
    f.connection.read("POST / HTTP/1.1\r\nContent-Length: 1048576\r\n\r\n", f.now);
    f.connection.read("x", f.now + 1s);
    f.connection.tick(f.now + 1900ms);
    CHECK(f.connection.state() == State::kReading);
    f.connection.read("x", f.now + 1900ms);
    f.connection.tick(f.now + 2s);
    CHECK(f.connection.status() == 408);
  }
  {
    Fixture f;  // 64 KiB are a second more
    f.connection.read("POST / HTTP/1.1\r\nContent-Length: 1048576\r\n\r\n", f.now);
    for (auto at = 1s; at <= 4s; at += 1s) {
      f.connection.read(std::string(64 << 10, 'x'), f.now + at);
      f.connection.tick(f.now + at);
      CHECK(f.connection.state() == State::kReading);
    }
    f.connection.tick(f.now + 5900ms);
    CHECK(f.connection.state() == State::kReading);
    f.connection.read("x", f.now + 5900ms);
    f.connection.tick(f.now + 6s);
    CHECK(f.connection.status() == 408);
  }
  {
    Fixture f;
    f.connection.read(kGet, f.now);
    f.connection.tick(f.now + 100s);
    CHECK(f.connection.state() == State::kWorking);  // our time, not theirs
    f.connection.answer({.body = std::string(100, 'x')}, f.now);
    f.connection.wrote(10, f.now + 1s);
    f.connection.tick(f.now + 2s);
    CHECK(f.connection.state() == State::kWriting);
    f.connection.tick(f.now + 3s);
    CHECK(f.connection.state() == State::kClosed);
  }
}

TEST_CASE("between requests a connection may wait longer") {
  Fixture f;
  f.connection.read(kGet, f.now);
  f.connection.answer({}, f.now);
  f.written();
  CHECK(f.connection.is_idle());
  f.connection.tick(f.now + 14s);
  CHECK(f.connection.state() == State::kReading);
  f.connection.tick(f.now + 15s);
  CHECK(f.connection.state() == State::kClosed);
}

TEST_CASE("empty lines are nothing that a connection could live on") {
  Fixture f;
  for (auto at = 0ms; at < 2000ms; at += 500ms) {
    f.connection.read(at.count() % 1000 == 0 ? "\r\n" : "\r\n\r\n", f.now + at);
    f.connection.tick(f.now + at);
    CHECK(f.connection.state() == State::kReading);
  }
  f.connection.tick(f.now + 2s);
  CHECK(f.connection.state() == State::kClosed);

  Fixture later;  // before a request they are passed over
  REQUIRE(later.connection.read("\r\n\r\n" + std::string(kGet), later.now + 1900ms));
  later.connection.answer({}, later.now + 1900ms);
  later.written();
  later.connection.read("\r\n", later.now + 5s);
  later.connection.tick(later.now + 16s);
  CHECK(later.connection.state() == State::kClosed);
}

TEST_CASE("what is refused ends the connection, and HEAD has no body") {
  Fixture f;
  CHECK_FALSE(f.connection.read("POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", f.now));
  CHECK(f.connection.status() == 413);
  const std::string refused = f.written();
  CHECK(refused.find("Connection: close\r\n") != std::string::npos);
  CHECK(f.connection.state() == State::kLingering);

  Fixture head;
  REQUIRE(head.connection.read("HEAD / HTTP/1.1\r\n\r\n", head.now));
  head.connection.answer({.body = "abc"}, head.now);
  const std::string answer = head.written();
  CHECK(answer.find("Content-Length: 3\r\n") != std::string::npos);
  CHECK(answer.ends_with("\r\n\r\n"));
}

TEST_CASE("who asks before sending a body is told to go on") {
  Fixture f;
  CHECK_FALSE(
      f.connection.read("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n", f.now));
  CHECK_FALSE(f.connection.answers());
  CHECK(f.written() == "HTTP/1.1 100 Continue\r\n\r\n");
  const auto request = f.connection.read("{}", f.now);
  REQUIRE(request);
  CHECK(request->body == "{}");
}

TEST_CASE("every answer keeps a browser from more than it needs to do") {
  const std::string bytes = to_bytes({}, true, false);
  for (const char* header :
       {"Content-Security-Policy: default-src 'none'; script-src 'self'", "frame-ancestors 'none'",
        "X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer",
        "Cross-Origin-Resource-Policy: same-origin", "Cache-Control: no-store"})
    CHECK(bytes.find(header) != std::string::npos);
  CHECK(bytes.find("unsafe-inline") == std::string::npos);
  CHECK(bytes.find("Access-Control") == std::string::npos);
}

}  // namespace
}  // namespace foretrain
