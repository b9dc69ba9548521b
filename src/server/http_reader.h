// Bytes of a connection become requests (RFC 9112), as far as this server takes them: a request line, headers, and a body
// whose length is stated once. What is ambiguous, folded, chunked or longer than the limits is refused, after which the
// connection ends: nobody can hide a second request in a first one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "server/message.h"

namespace foretrain {

struct HttpLimits {
  std::size_t line = 4096;      // of the request
  std::size_t head = 16 << 10;  // the line and all headers
  std::size_t headers = 64;
};

// What a request's body may have: `most` ever, and `now` while others' are held.
struct BodyLimit {
  std::size_t most = 0, now = 0;
};

class HttpReader {
 public:
  explicit HttpReader(const HttpLimits& limits = {}) : limits_(limits) {}

  enum class State : unsigned char { kHead, kBody, kDone, kRefused };

  void take(std::string_view bytes) { held_.append(bytes); }
  // Reads as far as the bytes go. `body_limit`: of the request whose head was just read.
  template <class LimitOf>
  State advance(const LimitOf& body_limit) {
    if (state_ == State::kHead && read_head()) check_length(body_limit(request_));
    if (state_ == State::kBody) read_body();
    return state_;
  }

  State state() const { return state_; }
  bool has_begun() const { return !held_.empty() || state_ != State::kHead; }
  const HttpRequest& request() const { return request_; }  // of kBody: without its body
  std::size_t body_bytes() const { return length_; }
  std::size_t body_held() const { return held_.size(); }  // of kBody: what of it has come
  const HttpResponse& refused() const { return refused_; }

  // After kDone: the request; the bytes behind it are the next one's.
  HttpRequest next();

 private:
  bool read_head();  // whether it is whole and fine
  void check_length(const BodyLimit& limit);
  void read_body();
  bool read_request_line(std::string_view line);
  bool read_header(std::string_view line);
  bool check_headers();
  bool refuse(int status, const std::string& message);

  HttpLimits limits_;
  State state_ = State::kHead;
  std::string held_;
  HttpRequest request_;
  std::size_t length_ = 0;
  HttpResponse refused_;
};

}  // namespace foretrain
