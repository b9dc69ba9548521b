#include "server/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/gzip.h"
#include "base/text.h"

namespace foretrain {
namespace {

constexpr std::string_view kSchemaFolder = "docs/schemas/", kJson = ".json";
constexpr std::size_t kWorthPacking = 1024;

struct Type {
  std::string_view suffix, type;
  bool packs = true;
};
constexpr std::array<Type, 11> kTypes = {{{".html", "text/html; charset=utf-8"},
                                          {".js", "text/javascript; charset=utf-8"},
                                          {".css", "text/css; charset=utf-8"},
                                          {".json", "application/json; charset=utf-8"},
                                          {".webmanifest", "application/manifest+json"},
                                          {".svg", "image/svg+xml"},
                                          {".txt", "text/plain; charset=utf-8"},
                                          {".png", "image/png", false},
                                          {".ico", "image/x-icon", false},
                                          {".woff2", "font/woff2", false},
                                          {"", "application/octet-stream", false}}};

const Type& type_of(std::string_view path) {
  for (const Type& type : kTypes)
    if (path.ends_with(type.suffix)) return type;
  return kTypes.back();
}

// "gzip", "br;q=1, gzip;q=0.5"; not "gzip;q=0" (RFC 9110, section 12.5.3).
bool takes_gzip(std::string_view accepts) {
  const auto codings = split(accepts, ',');
  return std::any_of(codings.begin(), codings.end(), [](std::string_view coding) {
    const auto parts = split(coding, ';');
    if (trim(parts[0]) != "gzip") return false;
    const std::string_view weight = parts.size() > 1 ? trim(parts[1]) : "";
    return !weight.starts_with("q=0") || weight.find_first_not_of("0.", 2) != std::string_view::npos;
  });
}

// FNV-1a, 64 bits: tells one version of a file from another.
std::string tag_of(std::string_view content) {
  std::uint64_t hash = 14695981039346656037ull;
  for (const char c : content) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return fmt::format("\"{:016x}\"", hash);
}

}  // namespace

Page::Page(std::span<const EmbeddedFile> files) {
  for (const EmbeddedFile& file : files) {
    Held held{file.content, {}, tag_of(file.content)};
    if (type_of(file.path).packs && file.content.size() >= kWorthPacking) held.packed = gzip(file.content);
    if (held.packed.size() >= file.content.size()) held.packed.clear();
    files_.emplace(std::string(file.path), std::move(held));
  }
}

HttpResponse Page::file(std::string_view path, const HttpRequest& request) const {
  const auto found =
      path.starts_with(kSchemaFolder) ? files_.end() : files_.find(path.empty() ? "index.html" : path);
  if (found == files_.end()) return refusal(404, "there is no " + quoted("/" + std::string(path)));
  const Held& held = found->second;
  HttpResponse response{200, std::string(type_of(found->first).type), {}, {}};
  // Names of assets hold their content's hash: another content has another name.
  const bool lasting = path.starts_with("assets/");
  response.headers = {{"Cache-Control", lasting ? "public, max-age=31536000, immutable" : "no-cache"},
                      {"ETag", held.tag},
                      {"Vary", "Accept-Encoding"}};
  const std::string* known = request.header("if-none-match");
  if (known != nullptr && *known == held.tag) {
    response.status = 304;
    return response;
  }
  const std::string* accepts = request.header("accept-encoding");
  if (!held.packed.empty() && accepts != nullptr && takes_gzip(*accepts)) {
    response.headers.emplace_back("Content-Encoding", "gzip");
    response.body = held.packed;
  } else {
    response.body = held.content;
  }
  return response;
}

std::vector<std::string> Page::schemas() const {
  std::vector<std::string> names;
  for (const auto& [path, held] : files_)
    if (path.starts_with(kSchemaFolder) && path.ends_with(kJson))
      names.push_back(path.substr(kSchemaFolder.size(), path.size() - kSchemaFolder.size() - kJson.size()));
  return names;
}

HttpResponse Page::schema(std::string_view name) const {
  const auto found = files_.find(std::string(kSchemaFolder) + std::string(name) + std::string(kJson));
  if (found == files_.end()) return refusal(404, "there is no schema " + quoted(name));
  return {200, "application/schema+json", std::string(found->second.content), {}};
}

}  // namespace foretrain
