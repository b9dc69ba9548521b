// What is served where. A route's path may end in one part in braces, which stands for any: "/api/v1/search/{id}".
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace foretrain {

enum class RouteKind : unsigned char {
  kVerb,         // a question, answered at once
  kList,         // names of a kind
  kSearchStart,  // a job
  kSearchLook,
  kSearchStop,  // its answer is then the best so far
  kSearchDrop,
  kSchemas,
  kSchema,
  kApi,   // this table
  kPage,  // the page's files
};

struct Route {
  std::string_view method;
  std::string_view path;
  RouteKind kind;
  std::string_view verb;  // of wire/verb.h; empty: none
  std::string_view what;
  std::size_t most_body = 0;
  bool heavy = false;  // may take seconds
};
std::span<const Route> routes();

struct RouteMatch {
  const Route* route = nullptr;  // null: there is none
  std::string parameter;         // what stands for the part in braces
  std::string allowed;           // where only the method is wrong: those that are right ("GET, DELETE")
};
RouteMatch find_route(std::string_view method, std::string_view path);

}  // namespace foretrain
