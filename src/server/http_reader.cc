#include "server/http_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostDigits = 12;  // of a length: more than anybody may send

// Signs of which names of headers and methods are made (RFC 9110, section 5.6.2).
bool is_token(std::string_view text) {
  constexpr std::string_view kSigns = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kSigns.find(c) != std::string_view::npos;
  });
}

// No control characters and no spaces but those that may stand in a value.
bool is_plain(std::string_view text, bool spaces) {
  return std::all_of(text.begin(), text.end(), [spaces](char c) {
    const auto sign = static_cast<unsigned char>(c);
    return sign > 0x20 ? sign != 0x7f : spaces && (c == ' ' || c == '\t');
  });
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace

bool HttpReader::refuse(int status, const std::string& message) {
  refused_ = refusal(status, message);
  state_ = State::kRefused;
  return false;
}

bool HttpReader::read_head() {
  // An empty line before a request is passed over (RFC 9112, section 2.2).
  std::size_t empty = 0;
  while (std::string_view(held_).substr(empty, 2) == "\r\n") empty += 2;
  held_.erase(0, empty);
  const std::size_t end = held_.find("\r\n\r\n");
  const std::size_t line_end = held_.find("\r\n");
  if (std::min(line_end, held_.size()) > limits_.line)
    return refuse(414, fmt::format("the request's line is longer than {} bytes", limits_.line));
  if (std::min(end, held_.size()) > limits_.head)
    return refuse(431, fmt::format("the request's headers are longer than {} bytes", limits_.head));
  if (end == std::string::npos) return false;
  std::string_view head = std::string_view(held_).substr(0, end);
  request_ = {};
  length_ = 0;
  if (!read_request_line(head.substr(0, line_end))) return false;
  head.remove_prefix(std::min(line_end + 2, head.size()));
  while (!head.empty()) {
    const std::size_t next = std::min(head.find("\r\n"), head.size());
    if (!read_header(head.substr(0, next))) return false;
    head.remove_prefix(std::min(next + 2, head.size()));
  }
  held_.erase(0, end + 4);
  return check_headers();
}

bool HttpReader::read_request_line(std::string_view line) {
  const auto parts = split(line, ' ');
  if (parts.size() != 3 || !is_token(parts[0]) || !is_plain(parts[1], false))
    return refuse(400, "expected a method, a path and HTTP/1.1");
  if (parts[2] != "HTTP/1.1" && parts[2] != "HTTP/1.0")
    return refuse(parts[2].starts_with("HTTP/") ? 505 : 400, "expected HTTP/1.1");
  // Of a proxy's absolute form there is nothing to serve.
  if (!parts[1].starts_with('/')) return refuse(400, "expected a path that begins with /");
  request_.method = parts[0];
  const std::size_t mark = std::min(parts[1].find('?'), parts[1].size());
  request_.path = parts[1].substr(0, mark);
  request_.query = parts[1].substr(std::min(mark + 1, parts[1].size()));
  request_.keep_alive = parts[2] == "HTTP/1.1";
  return true;
}

bool HttpReader::read_header(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon)))
    return refuse(400, "found a header without a name");
  // Spaces and tabs alone stand around a value; a bare line feed would be another header to somebody in between.
  std::string_view value = line.substr(colon + 1);
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  value.remove_suffix(value.size() - (value.find_last_not_of(" \t") + 1));
  if (!is_plain(value, true)) return refuse(400, "found control characters in a header");
  if (request_.headers.size() == limits_.headers)
    return refuse(431, fmt::format("more than {} headers", limits_.headers));
  std::string name = lower(line.substr(0, colon));
  // Of these a second one could mean something else to somebody in between.
  for (const char* once :
       {"host", "content-length", "transfer-encoding", "content-type", "origin", "connection"})
    if (name == once && request_.header(name) != nullptr) return refuse(400, "found two headers " + name);
  request_.headers.emplace_back(std::move(name), std::string(value));
  return true;
}

bool HttpReader::check_headers() {
  if (request_.header("transfer-encoding") != nullptr)
    return refuse(501, "found a Transfer-Encoding, expected a Content-Length");
  if (const std::string* expect = request_.header("expect");
      expect != nullptr && lower(*expect) != "100-continue")
    return refuse(417, "found an expectation that is not known");
  if (const std::string* connection = request_.header("connection")) {
    const std::string words = lower(*connection);
    const auto says = [&words](std::string_view wanted) {
      const auto parts = split(words, ',');
      return std::any_of(parts.begin(), parts.end(),
                         [&](std::string_view part) { return trim(part) == wanted; });
    };
    request_.keep_alive = !says("close") && (request_.keep_alive || says("keep-alive"));
  }
  const std::string* length = request_.header("content-length");
  if (length == nullptr) {
    if (request_.method == "POST" || request_.method == "PUT")
      return refuse(411, "found no Content-Length, expected the body's");
    return true;
  }
  const bool digits =
      !length->empty() && length->size() <= kMostDigits &&
      std::all_of(length->begin(), length->end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) return refuse(400, "found a Content-Length that is no number");
  length_ = static_cast<std::size_t>(*parse_integer(*length));
  return true;
}

void HttpReader::check_length(const BodyLimit& limit) {
  if (length_ > limit.most) {
    refuse(413, fmt::format("found {} bytes, expected at most {}", length_, limit.most));
    return;
  }
  if (length_ > limit.now) {
    refuse(503, fmt::format("found {} bytes, and others' bodies leave room for {}: ask again in a second",
                            length_, limit.now));
    refused_.headers.emplace_back("Retry-After", "1");
    return;
  }
  state_ = State::kBody;
  held_.reserve(std::min(length_, std::size_t{1} << 20));  // more as it comes
}

void HttpReader::read_body() {
  if (held_.size() < length_) return;
  if (held_.size() == length_) {
    request_.body = std::exchange(held_, {});
  } else {
    request_.body = held_.substr(0, length_);
    held_.erase(0, length_);
  }
  state_ = State::kDone;
}

HttpRequest HttpReader::next() {
  state_ = State::kHead;
  length_ = 0;
  return std::move(request_);
}

}  // namespace foretrain
