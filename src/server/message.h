// A request and its answer, as values: what HTTP is on the wire is http_reader's and connection's business.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace foretrain {

struct HttpRequest {
  std::string method;
  std::string path;   // as it was sent, before the '?'; nothing in it is decoded
  std::string query;  // behind it
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  bool keep_alive = true;

  // The value of a header; null: it has none.
  const std::string* header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string type = "application/json; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

std::string_view reason_of(int status);  // "Not Found"

// {"error": {"message": ..., "field": null, ..., "kind": "input"}} with a status.
HttpResponse refusal(int status, const std::string& message);

// The bytes of an answer: with its length, and what keeps a browser from more than it needs to do with it.
std::string to_bytes(const HttpResponse& response, bool keep_alive, bool head_only);

}  // namespace foretrain
