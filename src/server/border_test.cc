#include "server/border.h"

#include <doctest/doctest.h>

namespace foretrain {
namespace {

HttpRequest asking(const std::string& method, std::vector<std::pair<std::string, std::string>> headers) {
  HttpRequest request;
  request.method = method;
  request.path = "/api/v1/predict";
  request.headers = std::move(headers);
  return request;
}

int status_of(const HttpRequest& request, const Hosts& hosts = Hosts("127.0.0.1")) {
  const auto refused = check_border(request, hosts);
  return refused ? refused->status : 200;
}

TEST_CASE("hosts: this machine by its own names, whatever the port; any other name is DNS rebinding") {
  const Hosts hosts("127.0.0.1", "somewhere");
  for (const char* own : {"localhost", "localhost:8377", "LOCALHOST:1", "127.0.0.1:80", "[::1]:80", "[::1]"})
    CHECK(hosts.holds(own));
  for (const char* other : {"evil.example", "localhost.evil.example", "localhost:x", "localhost:0", "", ":80",
                            "[::1", "127.0.0.2", "somewhere", "localhost:80:80", "localhost@evil"})
    CHECK_FALSE(hosts.holds(other));
}

TEST_CASE("hosts: where every address is listened at, those in numbers and the machine's name") {
  const Hosts hosts("0.0.0.0", "node7");
  for (const char* own : {"192.168.1.7:8377", "node7:8377", "[fe80::1]:1", "localhost"})
    CHECK(hosts.holds(own));
  for (const char* other : {"evil.example", "1.2.3", "1.2.3.4.5", "1.2.3.256", "node8"})
    CHECK_FALSE(hosts.holds(other));
  CHECK(Hosts("10.0.0.5").holds("10.0.0.5:80"));
  CHECK_FALSE(Hosts("10.0.0.5").holds("10.0.0.6:80"));
}

TEST_CASE("loopback is what nobody else reaches") {
  for (const char* inside : {"127.0.0.1", "127.1.2.3", "localhost", "::1"}) CHECK(is_loopback(inside));
  for (const char* outside : {"0.0.0.0", "::", "10.0.0.1", "127.evil.example", "localhost.example"})
    CHECK_FALSE(is_loopback(outside));
}

TEST_CASE("a page of another origin can do nothing") {
  const auto post = [](const char* origin) {
    return asking("POST",
                  {{"host", "localhost:8377"}, {"content-type", "application/json"}, {"origin", origin}});
  };
  CHECK(status_of(post("http://localhost:8377")) == 200);
  CHECK(status_of(post("http://evil.example")) == 403);
  CHECK(status_of(post("http://localhost:9999")) == 403);
  CHECK(status_of(post("null")) == 403);
  CHECK(status_of(asking("DELETE", {{"host", "localhost"}, {"origin", "http://evil.example"}})) == 403);
  CHECK(status_of(asking("GET", {{"host", "localhost"}, {"origin", "http://evil.example"}})) == 403);
  CHECK(status_of(asking("DELETE", {{"host", "localhost"}, {"sec-fetch-site", "cross-site"}})) == 403);
  CHECK(status_of(asking("GET", {{"host", "localhost"}, {"sec-fetch-site", "cross-site"}})) ==
        200);  // a link
}

TEST_CASE("a form of another page cannot be a question: its types are not JSON's") {
  const auto typed = [](const char* type) {
    return asking("POST", {{"host", "localhost"}, {"content-type", type}});
  };
  CHECK(status_of(typed("application/json")) == 200);
  CHECK(status_of(typed("Application/JSON; charset=utf-8")) == 200);
  for (const char* simple : {"text/plain", "application/x-www-form-urlencoded",
                             "multipart/form-data; boundary=x", "", "text/plain; application/json"})
    CHECK(status_of(typed(simple)) == 415);
  CHECK(status_of(asking("POST", {{"host", "localhost"}})) == 415);
  CHECK(status_of(asking("GET", {{"host", "evil.example"}})) == 421);
  CHECK(status_of(asking("GET", {})) == 421);
}

}  // namespace
}  // namespace foretrain
