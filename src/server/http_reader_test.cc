#include "server/http_reader.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace foretrain {
namespace {

using State = HttpReader::State;

constexpr std::size_t kMost = 1000;

State after(HttpReader& reader, std::string_view bytes, std::size_t most = kMost) {
  reader.take(bytes);
  return reader.advance([most](const HttpRequest&) { return BodyLimit{most, most}; });
}

int status_of(const std::string& bytes) {
  HttpReader reader;
  return after(reader, bytes) == State::kRefused ? reader.refused().status : 200;
}

std::string get(const std::string& headers) { return "GET / HTTP/1.1\r\n" + headers + "\r\n"; }
std::string post(const std::string& headers) { return "POST /x HTTP/1.1\r\n" + headers + "\r\n"; }

TEST_CASE(
    "a body that is too long for anybody is told so, one for which there is no room just now to come again") {
  const auto refused = [](std::size_t length, const BodyLimit& limit) {
    HttpReader reader;
    reader.take(fmt::format("POST /x HTTP/1.1\r\nContent-Length: {}\r\n\r\n", length));
    reader.advance([&limit](const HttpRequest&) { return limit; });
    return reader.state() == State::kRefused ? reader.refused() : HttpResponse{};
  };
  CHECK(refused(101, {100, 50}).status == 413);
  const HttpResponse later = refused(100, {100, 50});
  CHECK(later.status == 503);
  CHECK(later.headers.back() == std::pair<std::string, std::string>("Retry-After", "1"));
  CHECK(refused(50, {100, 50}).status == 200);
}

TEST_CASE("a request is its line, its headers in lower case, and as much body as it states") {
  HttpReader reader;
  CHECK(after(reader, "POST /a/b?c=d HTTP/1.1\r\nHost:  x \r\nCONTENT-Length: 3\r\n\r\nabcGET") ==
        State::kDone);
  const HttpRequest request = reader.next();
  CHECK(request.method == "POST");
  CHECK(request.path == "/a/b");
  CHECK(request.query == "c=d");
  CHECK(*request.header("host") == "x");
  CHECK(request.body == "abc");
  CHECK(request.keep_alive);
  CHECK(after(reader, " / HTTP/1.1\r\n\r\n") == State::kDone);  // what came behind it is the next
  CHECK(reader.next().method == "GET");
}

TEST_CASE("any split of the bytes gives the same request") {
  const std::string bytes = "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello";
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    HttpReader reader;
    CHECK(after(reader, bytes.substr(0, cut)) != State::kDone);
    REQUIRE(after(reader, bytes.substr(cut)) == State::kDone);
    CHECK(reader.next().body == "hello");
  }
}

TEST_CASE("what is ambiguous is refused: nobody hides a second request in a first") {
  CHECK(status_of(post("Content-Length: 3\r\nContent-Length: 3\r\n")) == 400);
  CHECK(status_of(post("Transfer-Encoding: chunked\r\n")) == 501);
  CHECK(status_of(post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n")) == 501);
  CHECK(status_of(post("Content-Length: +3\r\n")) == 400);
  CHECK(status_of(post("Content-Length: 3, 3\r\n")) == 400);
  CHECK(status_of(post("Content-Length: -1\r\n")) == 400);
  CHECK(status_of(post("Content-Length: 99999999999999999999\r\n")) == 400);
  CHECK(status_of(post("Content-Length: 0x3\r\n")) == 400);
  CHECK(status_of(post("")) == 411);
  CHECK(status_of(get("Host: a\r\nHost: b\r\n")) == 400);
  CHECK(status_of(get(" folded: x\r\n")) == 400);
  CHECK(status_of(get("name : x\r\n")) == 400);
  CHECK(status_of(get("no colon\r\n")) == 400);
  CHECK(status_of(get(std::string("a: b\0c\r\n", 8))) == 400);
  CHECK(status_of(get("a: b\nc: d\r\n")) == 400);
}

TEST_CASE("request lines: a method, a path, and a version that is known") {
  CHECK(status_of("GET  / HTTP/1.1\r\n\r\n") == 400);
  CHECK(status_of("GET /\r\n\r\n") == 400);
  CHECK(status_of("GET http://other/ HTTP/1.1\r\n\r\n") == 400);
  CHECK(status_of("GET / HTTP/2.0\r\n\r\n") == 505);
  CHECK(status_of("G@T / HTTP/1.1\r\n\r\n") == 400);
  CHECK(status_of(std::string("GET /\x01 HTTP/1.1\r\n\r\n")) == 400);
  CHECK(status_of("\r\n\r\nGET / HTTP/1.1\r\n\r\n") == 200);
}

TEST_CASE("limits: of the line, of the head, of the number of headers, of the body") {
  CHECK(status_of("GET /" + std::string(5000, 'a')) == 414);
  CHECK(status_of(get("a: " + std::string(20'000, 'a'))) == 431);
  std::string many;
  for (int i = 0; i < 65; ++i) many += fmt::format("h{}: x\r\n", i);
  CHECK(status_of(get(many)) == 431);
  CHECK(status_of(post("Content-Length: 1001\r\n")) == 413);
  CHECK(status_of(post("Content-Length: 1000\r\n")) == 200);
}

TEST_CASE("keep-alive is what HTTP/1.1 does unless somebody says otherwise") {
  const auto keeps = [](const std::string& bytes) {
    HttpReader reader;
    REQUIRE(after(reader, bytes) == State::kDone);
    return reader.next().keep_alive;
  };
  CHECK(keeps(get("")));
  CHECK_FALSE(keeps(get("Connection: close\r\n")));
  CHECK_FALSE(keeps(get("Connection: TE, Close\r\n")));
  CHECK(keeps(get("Connection: TE, closed\r\n")));
  CHECK_FALSE(keeps("GET / HTTP/1.0\r\n\r\n"));
  CHECK(keeps("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"));
}

}  // namespace
}  // namespace foretrain
