#include "server/message.h"

#include <fmt/format.h>

#include "wire/error_json.h"

namespace foretrain {
namespace {

// Scripts, styles and pictures are this server's own; nothing is framed, sent elsewhere or guessed at.
constexpr std::string_view kEverySecurityHeader =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: "
    "blob:; "
    "font-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n";

}  // namespace

const std::string* HttpRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return &value;
  return nullptr;
}

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Internal Server Error";
  }
}

HttpResponse refusal(int status, const std::string& message) {
  return {status,
          "application/json; charset=utf-8",
          error_json({message, {}, {}, status >= 500 ? ErrorKind::kMachine : ErrorKind::kInput}),
          {}};
}

std::string to_bytes(const HttpResponse& response, bool keep_alive, bool head_only) {
  std::string out = fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_of(response.status));
  // A length beside 304 would be that of what is not sent (RFC 9110, section 8.6).
  if (response.status != 304) out += fmt::format("Content-Length: {}\r\n", response.body.size());
  if (!response.body.empty()) out += "Content-Type: " + response.type + "\r\n";
  bool caching = false;
  for (const auto& [name, value] : response.headers) {
    out += name + ": " + value + "\r\n";
    caching = caching || name == "Cache-Control";
  }
  if (!caching) out += "Cache-Control: no-store\r\n";
  out += kEverySecurityHeader;
  out += keep_alive ? "\r\n" : "Connection: close\r\n\r\n";
  if (!head_only) out += response.body;
  return out;
}

}  // namespace foretrain
