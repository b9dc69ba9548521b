#include "server/routes.h"

#include <array>

#include "wire/verb.h"

namespace foretrain {
namespace {

constexpr std::size_t kSmall = kMostRequestBytes, kLarge = kMostUploadBytes;

constexpr std::array<Route, 20> kRoutes = {{
    {"POST", "/api/v1/predict", RouteKind::kVerb, "predict", "One run", kSmall},
    {"POST", "/api/v1/over", RouteKind::kVerb, "over", "One run over the values of a key", kSmall, true},
    {"POST", "/api/v1/compare", RouteKind::kVerb, "compare", "Several runs side by side", kSmall},
    {"POST", "/api/v1/accuracy", RouteKind::kVerb, "accuracy", "How far off published runs like one were",
     kSmall},
    {"POST", "/api/v1/convert", RouteKind::kVerb, "convert", "A run as another framework's, or as ours",
     kSmall},
    {"POST", "/api/v1/show", RouteKind::kVerb, "show", "What stands behind a name", kSmall},
    {"POST", "/api/v1/cost", RouteKind::kVerb, "cost", "What an operator takes", kSmall},
    {"POST", "/api/v1/import", RouteKind::kVerb, "import", "What others measured", kLarge, true},
    {"POST", "/api/v1/validate", RouteKind::kVerb, "validate", "Predictions against measured runs", kLarge,
     true},
    {"POST", "/api/v1/diagnose", RouteKind::kVerb, "diagnose", "A log or trace beside its prediction", kLarge,
     true},
    {"GET", "/api/v1/list/{kind}", RouteKind::kList, "list", "Names: models, clusters, ..."},
    {"POST", "/api/v1/search", RouteKind::kSearchStart, "search", "Starts a search: {\"id\"}", kSmall},
    {"GET", "/api/v1/search/{id}", RouteKind::kSearchLook, "", "How far it is, and at the end its answer"},
    {"POST", "/api/v1/search/{id}/stop", RouteKind::kSearchStop, "", "Ends it with the best so far", kSmall},
    {"DELETE", "/api/v1/search/{id}", RouteKind::kSearchDrop, "", "Ends and forgets it"},
    {"GET", "/api/v1/schema", RouteKind::kSchemas, "", "Names of the schemas of answers"},
    {"GET", "/api/v1/schema/{name}", RouteKind::kSchema, "", "A JSON Schema"},
    {"GET", "/api/v1", RouteKind::kApi, "", "This list"},
    {"GET", "/assets/{name}", RouteKind::kPage, "", "Files of the page"},
    {"GET", "/{name}", RouteKind::kPage, "", "The page"},
}};

// Whether the path is the pattern's, with what stands for its part in braces.
bool fits(std::string_view pattern, std::string_view path, std::string& parameter) {
  const std::size_t open = pattern.find('{');
  if (open == std::string_view::npos) return path == pattern;
  const std::string_view before = pattern.substr(0, open), after = pattern.substr(pattern.find('}') + 1);
  if (path.size() < before.size() + after.size() || !path.starts_with(before) || !path.ends_with(after))
    return false;
  const std::string_view part = path.substr(before.size(), path.size() - before.size() - after.size());
  const bool is_root = before == "/";  // whose part may be empty
  if (part.find('/') != std::string_view::npos || (part.empty() && !is_root)) return false;
  parameter = part;
  return true;
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }

RouteMatch find_route(std::string_view method, std::string_view path) {
  RouteMatch match;
  if (method == "HEAD") method = "GET";
  for (const Route& route : kRoutes) {
    std::string parameter;
    if (!fits(route.path, path, parameter)) continue;
    if (route.method == method) return {&route, std::move(parameter), {}};
    match.allowed += (match.allowed.empty() ? "" : ", ") + std::string(route.method);
  }
  return match;
}

}  // namespace foretrain
