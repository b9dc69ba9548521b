#include "server/service.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostUnasked = std::size_t{64} << 10;

HttpResponse of_result(Result<std::string> result) {
  HttpResponse response;
  if (result) {
    response.body = *std::move(result);
    return response;
  }
  const ErrorKind kind = result.error().kind;
  response.status = kind == ErrorKind::kInput ? 422 : kind == ErrorKind::kMachine ? 503 : 500;
  response.body = error_json(result.error());
  return response;
}

// What is wrong before any question is read; none: nothing is.
std::optional<HttpResponse> check_route(const HttpRequest& request, const RouteMatch& match) {
  if (match.route != nullptr) return std::nullopt;
  if (match.allowed.empty())
    return refusal(404, "there is no " + quoted(request.path) + "; /api/v1 lists what there is");
  HttpResponse response =
      refusal(405, fmt::format("found {}, expected {}", quoted(request.method), match.allowed));
  response.headers.emplace_back("Allow", match.allowed);
  return response;
}

HttpResponse api() {
  JsonWriter w;
  w.begin_object().key("routes").begin_array();
  for (const Route& route : routes())
    w.begin_object()
        .key("method")
        .value(route.method)
        .key("path")
        .value(route.path)
        .key("what")
        .value(route.what)
        .end_object();
  w.end_array().end_object();
  return of_result(w.text());
}

HttpResponse names(const char* key, const std::vector<std::string>& all) {
  JsonWriter w;
  w.begin_object().key(key).begin_array();
  for (const std::string& name : all) w.value(std::string_view(name));
  w.end_array().end_object();
  return of_result(w.text());
}

HttpResponse no_search(const std::string& id) {
  return refusal(404,
                 "there is no search " + quoted(id) + ": it was ended, forgotten, or never started here");
}

// What stands between the outer braces of an object.
std::string inner(const std::string& object) {
  const std::size_t begin = object.find('{') + 1;
  return std::string(trim(std::string_view(object).substr(begin, object.rfind('}') - begin)));
}

std::string_view word(const SearchJobs::View& view) {
  if (view.state == SearchJobs::State::kDone) return view.answer && *view.answer ? "done" : "failed";
  if (view.state == SearchJobs::State::kWaiting) return "waiting";
  return view.stopping ? "stopping" : "running";
}

}  // namespace

std::size_t Service::most_body(const HttpRequest& head) const {
  if (check_border(head, hosts_)) return kMostUnasked;
  const RouteMatch match = find_route(head.method, head.path);
  // Where nothing is asked a body is read so that what is wrong can be told.
  return std::max(kMostUnasked, match.route == nullptr ? 0 : match.route->most_body);
}

Service::Work Service::work_of(const HttpRequest& request) const {
  const RouteMatch match = find_route(request.method, request.path);
  if (match.route == nullptr || match.route->verb.empty() || check_border(request, hosts_))
    return Work::kNone;
  return match.route->heavy ? Work::kHeavy : Work::kQuick;
}

HttpResponse Service::answer(const HttpRequest& request) {
  if (auto refused = check_border(request, hosts_)) return *std::move(refused);
  const RouteMatch match = find_route(request.method, request.path);
  if (auto refused = check_route(request, match)) return *std::move(refused);
  const std::string& parameter = match.parameter;
  switch (match.route->kind) {
    case RouteKind::kSearchLook:
      return look(parameter);
    case RouteKind::kSearchStop:
      return jobs_.stop(parameter) ? look(parameter) : no_search(parameter);
    case RouteKind::kSearchDrop:
      return jobs_.drop(parameter) ? of_result("{}\n") : no_search(parameter);
    case RouteKind::kSchemas:
      return names("schemas", page_.schemas());
    case RouteKind::kSchema:
      return page_.schema(parameter);
    case RouteKind::kApi:
      return api();
    default:
      return page_.file(std::string_view(request.path).substr(1), request);
  }
}

HttpResponse Service::answer(const HttpRequest& request, JsonSession& session, const VerbBounds& bounds) {
  if (work_of(request) == Work::kNone) return answer(request);
  const RouteMatch match = find_route(request.method, request.path);
  if (match.route->kind == RouteKind::kSearchStart) return start_search(request, session);
  if (match.route->kind == RouteKind::kList)
    return of_result(session.answer("list", "{\"kind\": " + json_text(match.parameter) + "}"));
  return of_result(session.answer(match.route->verb, request.body, bounds));
}

// What is wrong with a search is told at once; the job reads it again in the session that runs it.
HttpResponse Service::start_search(const HttpRequest& request, JsonSession& session) {
  const auto question = session.prepare_search(request.body);
  if (!question) return of_result(tl::unexpected(question.error()));
  const auto id = jobs_.start(request.body, SearchJobs::Clock::now());
  if (!id) {
    HttpResponse response =
        refusal(429, "too many searches wait already: end one, or ask again when one is done");
    response.headers.emplace_back("Retry-After", "5");
    return response;
  }
  HttpResponse response = of_result("{\"id\": " + json_text(*id) + "}\n");
  response.status = 202;
  response.headers.emplace_back("Location", "/api/v1/search/" + *id);
  return response;
}

// {"id", "state", "done", "before", "decided", "all", "best_s", "gap", "point", "points", "answer", "error"}, of which the
// answer has the bytes of search --json.
HttpResponse Service::look(const std::string& id) {
  const auto view = jobs_.look(id, SearchJobs::Clock::now());
  if (!view) return no_search(id);
  const bool ended = view->state == SearchJobs::State::kDone,
             found = view->answer && view->answer->has_value();
  const std::string progress = progress_json(view->progress.value_or(SearchProgress{}));
  const std::string error = found || !view->answer ? "{\"error\": null}" : error_json(view->answer->error());
  return of_result(fmt::format(
      "{{\n\"id\": {},\n\"state\": \"{}\",\n\"done\": {},\n\"before\": {},{},\n\"answer\": {},\n{}}}\n",
      json_text(id), word(*view), ended, view->before, inner(progress), found ? **view->answer : "null",
      inner(error)));
}

void Service::run_search(SearchJobs::Job& job, JsonSession& session, int threads) {
  auto question = session.prepare_search(job.request);
  if (!question) {
    jobs_.finish(job, tl::unexpected(question.error()), SearchJobs::Clock::now());
    return;
  }
  AnswerRequest& prepared = question->prepared();
  prepared.options.threads =
      prepared.options.threads > 0 ? std::min(prepared.options.threads, threads) : threads;
  prepared.options.stop = &job.stop;
  prepared.options.progress = [this, &job](const SearchProgress& now) { jobs_.note(job, now); };
  jobs_.finish(job, session.answer(*question), SearchJobs::Clock::now());
}

}  // namespace foretrain
