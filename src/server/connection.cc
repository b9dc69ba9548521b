#include "server/connection.h"

#include <utility>

namespace foretrain {

Connection::Connection(const ConnectionTimes& times, LimitOf body_limit, Clock::time_point now)
    : times_(times),
      body_limit_(std::move(body_limit)),
      since_(now),
      began_(now),
      deadline_(now + times.move) {}

std::size_t Connection::expected_bytes() const {
  return state_ == State::kReading && reader_.state() == HttpReader::State::kBody ? reader_.body_bytes() : 0;
}

std::optional<HttpRequest> Connection::read(std::string_view bytes, Clock::time_point now) {
  if (state_ != State::kReading) return std::nullopt;
  // A head's time begins with its first byte; empty lines before it are nothing that a connection could live on.
  if (!reader_.has_begun() && bytes.find_first_not_of("\r\n") != std::string_view::npos)
    deadline_ = now + times_.move;
  reader_.take(bytes);
  return advance(now);
}

std::optional<HttpRequest> Connection::advance(Clock::time_point now) {
  const HttpReader::State before = reader_.state();
  switch (reader_.advance(body_limit_)) {
    case HttpReader::State::kHead:
      return std::nullopt;
    case HttpReader::State::kBody: {
      deadline_ = now + times_.move;
      if (before == HttpReader::State::kBody) return std::nullopt;
      body_began_ = now;
      if (reader_.request().header("expect") == nullptr) return std::nullopt;
      out_ = "HTTP/1.1 100 Continue\r\n\r\n";
      written_ = 0;
      continues_ = true;
      state_ = State::kWriting;
      return std::nullopt;
    }
    case HttpReader::State::kRefused:
      refuse(reader_.refused(), now);
      return std::nullopt;
    case HttpReader::State::kDone:
      break;
  }
  HttpRequest request = reader_.next();
  keep_alive_ = request.keep_alive;
  head_only_ = request.method == "HEAD";
  asked_ = request.method + " " + request.path;
  state_ = State::kWorking;
  began_ = since_ = now;
  return request;
}

void Connection::refuse(const HttpResponse& response, Clock::time_point now) {
  keep_alive_ = head_only_ = false;
  const HttpRequest& known = reader_.request();
  asked_ = known.method.empty() ? "(no request)" : known.method + " " + known.path;
  began_ = now;
  answer(response, now);
}

void Connection::answer(const HttpResponse& response, Clock::time_point now) {
  out_ = to_bytes(response, keep_alive_, head_only_);
  status_ = response.status;
  written_ = 0;
  state_ = State::kWriting;
  since_ = now;
  deadline_ = now + times_.move;
}

std::optional<HttpRequest> Connection::wrote(std::size_t bytes, Clock::time_point now) {
  if (bytes == 0 || state_ != State::kWriting) return std::nullopt;
  written_ += bytes;
  deadline_ = now + times_.move;
  if (written_ < out_.size()) return std::nullopt;
  state_ = State::kReading;
  if (std::exchange(continues_, false)) return advance(now);
  since_ = now;
  if (!keep_alive_) {
    state_ = State::kLingering;
    deadline_ = now + times_.linger;
    return std::nullopt;
  }
  deadline_ = now + (reader_.has_begun() ? times_.move : times_.idle);
  return reader_.has_begun() ? advance(now) : std::nullopt;
}

void Connection::ended(Clock::time_point) {
  if (state_ != State::kWriting) state_ = State::kClosed;
}

// Room is kept for what a body says that it has, so who sends it a byte at a time is not waited for until its end.
bool Connection::is_crawling(Clock::time_point now) const {
  if (state_ != State::kReading || reader_.state() != HttpReader::State::kBody) return false;
  const std::chrono::seconds earned(reader_.body_held() / times_.least_bytes_a_second);
  return now >= body_began_ + times_.move + earned;
}

void Connection::tick(Clock::time_point now) {
  if (state_ == State::kWorking || (now < deadline_ && !is_crawling(now))) return;
  if (state_ == State::kReading && reader_.has_begun())
    refuse(refusal(408, "the request did not come in time"), now);
  else
    state_ = State::kClosed;
}

}  // namespace foretrain
