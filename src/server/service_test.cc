// Answers of routes, without a socket.
#include "server/service.h"

#include <doctest/doctest.h>

#include <memory>

#include "server/work_queue.h"

namespace foretrain {
namespace {

HttpRequest asking(const std::string& method, const std::string& path, const std::string& body = {}) {
  HttpRequest request;
  request.method = method;
  request.path = path;
  request.headers = {{"host", "localhost"}, {"content-type", "application/json"}};
  request.body = body;
  return request;
}

struct Fixture {
  Service service{Hosts("127.0.0.1"), {.waiting = 1}};
  JsonSession session;
  HttpResponse answer(const std::string& method, const std::string& path, const std::string& body = {}) {
    return service.answer(asking(method, path, body), session);
  }
};

constexpr const char* kSearch =
    R"({"model": "gpt2-xl", "cluster": "dgx-a100", "gpus": 8, "global_batch": 64, "set": ["pp=1"]})";

// The text between two marks.
std::string between(const std::string& text, const std::string& before, const std::string& behind) {
  const std::size_t begin = text.find(before) + before.size();
  return text.substr(begin, text.find(behind, begin) - begin);
}

TEST_CASE("a question is answered with the bytes of its verb, a wrong one with what is wrong") {
  Fixture f;
  const std::string question = R"({"kind": "schedules"})";
  CHECK(f.answer("GET", "/api/v1/list/schedules").body == *JsonSession().answer("list", question));
  const HttpResponse wrong = f.answer("POST", "/api/v1/predict", R"({"modle": "x"})");
  CHECK(wrong.status == 422);
  CHECK(wrong.body.find("did you mean 'model'") != std::string::npos);
  CHECK(f.answer("GET", "/api/v1/list/modles").status == 422);
  CHECK(f.answer("GET", "/nothing").status == 404);
  const HttpResponse method = f.answer("GET", "/api/v1/predict");
  CHECK(method.status == 405);
  CHECK(method.headers.front() == std::pair<std::string, std::string>("Allow", "POST"));
}

TEST_CASE("a search: started, looked at, run, its answer that of the verb, dropped") {
  Fixture f;
  CHECK(f.answer("POST", "/api/v1/search", R"({"model": "gpt2-xl"})").status == 422);  // at once
  const HttpResponse started = f.answer("POST", "/api/v1/search", kSearch);
  CHECK(started.status == 202);
  const std::string id = between(started.body, "\"id\": \"", "\"");
  const std::string path = "/api/v1/search/" + id;
  CHECK(f.answer("GET", path).body.find("\"state\": \"waiting\"") != std::string::npos);
  CHECK(f.answer("POST", "/api/v1/search", kSearch).status == 429);
  f.service.run_search(*f.service.jobs().take(), f.session, 1);
  const HttpResponse done = f.answer("GET", path);
  CHECK(done.body.find("\"state\": \"done\"") != std::string::npos);
  const auto plain = [](std::string text) {  // without how long it took
    const std::size_t at = text.find("\"seconds\": ");
    return at == std::string::npos ? text : text.erase(at, text.find('\n', at) - at);
  };
  const std::string answer = between(done.body, "\"answer\": ", "\n,\n\"error\": null") + "\n";
  CHECK(plain(answer) == plain(*JsonSession().answer("search", kSearch)));
  CHECK(f.answer("DELETE", path).status == 200);
  CHECK(f.answer("GET", path).status == 404);
}

TEST_CASE("a body is as long as its route allows; a route that is none takes little") {
  Fixture f;
  CHECK(f.service.most_body(asking("POST", "/api/v1/predict")) == kMostRequestBytes);
  CHECK(f.service.most_body(asking("POST", "/api/v1/import")) == kMostUploadBytes);
  CHECK(f.service.most_body(asking("POST", "/elsewhere")) == 65536);  // so that it can be told
  CHECK(f.service.most_body(asking("GET", "/")) == 65536);
}

TEST_CASE("pages: by exact name, packed for who takes it, not sent twice, never outside") {
  const std::string script(5000, 'x');
  const EmbeddedFile files[] = {
      {"assets/a.js", script}, {"docs/schemas/predict.json", "{}"}, {"index.html", "<p>"}};
  const Page page(files);
  HttpRequest request;
  CHECK(page.file("", request).body == "<p>");
  CHECK(page.file("assets/a.js", request).body == script);
  request.headers = {{"accept-encoding", "gzip, br"}};
  const HttpResponse packed = page.file("assets/a.js", request);
  CHECK(packed.body.size() < 100);
  CHECK(packed.headers.back().second == "gzip");
  for (const auto& [accepts, packs] : {std::pair{"br;q=1, gzip;q=0.5", true},
                                       {"gzip;q=0", false},
                                       {"gzip;q=0.000, br", false},
                                       {"xgzip", false}}) {
    request.headers = {{"accept-encoding", accepts}};
    CHECK_MESSAGE((page.file("assets/a.js", request).body.size() < 100) == packs, accepts);
  }
  request.headers = {{"if-none-match", packed.headers[1].second}};
  const HttpResponse known = page.file("assets/a.js", request);
  CHECK(known.status == 304);
  CHECK(to_bytes(known, true, false).find("Content-Length") == std::string::npos);
  for (const char* path :
       {"../etc/passwd", "assets/../index.html", "assets/a.js/", "docs/schemas/predict.json", "%2e%2e"})
    CHECK(page.file(path, request).status == 404);
  CHECK(page.schema("predict").body == "{}");
  CHECK(page.schema("../../index").status == 404);
  CHECK(page.schemas() == std::vector<std::string>{"predict"});
}

TEST_CASE("work: quick questions first, heavy ones never on the last thread, no more than may wait") {
  WorkQueue queue(2, 1);
  CHECK(queue.add({1, {}, true}));
  CHECK(queue.add({2, {}, true}));
  CHECK_FALSE(queue.add({6, {}, true}));
  CHECK(queue.add({3, {}, false}));  // heavy ones that wait are not in its way
  CHECK(queue.add({4, {}, false}));
  CHECK_FALSE(queue.add({7, {}, false}));
  CHECK(queue.take()->connection == 3);
  CHECK(queue.take()->connection == 4);
  CHECK(queue.take()->connection == 1);
  CHECK(queue.add({5, {}, false}));
  CHECK(queue.take()->connection == 5);  // the second heavy one waits for the first
  queue.done({1, {}, true});
  CHECK(queue.take()->connection == 2);
  queue.close();
  CHECK_FALSE(queue.take());
}

TEST_CASE(
    "work: what nobody waits for any more makes room, and is not begun; bodies count until they are "
    "answered") {
  WorkQueue queue(2, 1);
  HttpRequest body;
  body.body = std::string(100, 'x');
  auto first = std::make_unique<Waiting>(), second = std::make_unique<Waiting>();
  REQUIRE(queue.add({1, body, false, first->left()}));
  REQUIRE(queue.add({2, body, false, second->left()}));
  CHECK(queue.body_bytes() == 200);
  CHECK_FALSE(queue.add({3, body, false}));
  first.reset();
  CHECK(queue.add({3, body, false}));  // in the place of the one that left
  const auto taken = queue.take();
  REQUIRE(taken);
  CHECK(taken->connection == 2);
  CHECK(queue.body_bytes() == 200);  // of one at work and one that waits
  second.reset();
  CHECK(taken->is_left());  // which stops it, where it looks
  queue.done(*taken);
  CHECK(queue.body_bytes() == 100);
  auto third = std::make_unique<Waiting>();
  REQUIRE(queue.add({4, body, true, third->left()}));
  third.reset();
  queue.drop_left();
  CHECK(queue.body_bytes() == 100);
  CHECK(queue.take()->connection == 3);
}

}  // namespace
}  // namespace foretrain
