#include "server/routes.h"

#include <doctest/doctest.h>

#include "wire/verb.h"

namespace foretrain {
namespace {

TEST_CASE("routes: by method and path, with what stands for a part in braces") {
  CHECK(find_route("POST", "/api/v1/predict").route->verb == "predict");
  const RouteMatch look = find_route("GET", "/api/v1/search/abc");
  REQUIRE(look.route != nullptr);
  CHECK(look.route->kind == RouteKind::kSearchLook);
  CHECK(look.parameter == "abc");
  CHECK(find_route("POST", "/api/v1/search/abc/stop").route->kind == RouteKind::kSearchStop);
  CHECK(find_route("DELETE", "/api/v1/search/abc").route->kind == RouteKind::kSearchDrop);
  CHECK(find_route("GET", "/").route->kind == RouteKind::kPage);
  CHECK(find_route("HEAD", "/").route->kind == RouteKind::kPage);
}

TEST_CASE("routes: a wrong method is told the right ones, a wrong path is none") {
  CHECK(find_route("GET", "/api/v1/predict").allowed == "POST");
  CHECK(find_route("PUT", "/api/v1/search/abc").allowed == "GET, DELETE");
  for (const char* path : {"/api/v1/predict/", "/api/v1/", "/api/v1/search/a/b", "/api/v1/list/", "/assets/",
                           "/a/b", "/assets/../index.html", "/../etc/passwd", "//etc/passwd"})
    CHECK(find_route("GET", path).route == nullptr);
}

TEST_CASE("routes: every verb has one, and no body is larger than its verb takes") {
  for (const Verb& verb : verbs()) {
    bool found = false;
    for (const Route& route : routes()) {
      if (route.verb != verb.name) continue;
      found = true;
      CHECK(route.most_body <= verb.most_bytes);
      CHECK((route.method == "GET" || route.most_body > 0));
    }
    CHECK_MESSAGE(found, verb.name);
  }
}

}  // namespace
}  // namespace foretrain
