// One connection as a value: bytes in, a request out; an answer in, bytes out; and until when the other side has to have
// moved. Knows no sockets, so that a test can be the slowest client there is.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "server/http_reader.h"

namespace foretrain {

struct ConnectionTimes {
  std::chrono::milliseconds move{2000};         // until the next byte, or for a head as a whole
  std::chrono::milliseconds idle{15000};        // between requests
  std::chrono::milliseconds linger{1000};       // until the other side has read a last answer
  std::size_t least_bytes_a_second = 64 << 10;  // of a body, at any moment since `move` after its head
};

class Connection {
 public:
  using Clock = std::chrono::steady_clock;
  using LimitOf = std::function<BodyLimit(const HttpRequest&)>;

  enum class State : unsigned char {
    kReading,
    kWorking,  // somebody answers
    kWriting,
    kLingering,  // written and closed on our side: what still comes is thrown away
    kClosed
  };

  Connection(const ConnectionTimes& times, LimitOf body_limit, Clock::time_point now);

  State state() const { return state_; }
  bool is_idle() const { return state_ == State::kReading && !reader_.has_begun(); }
  Clock::time_point since() const { return since_; }  // of the state, and of an idle one's last request
  // What a body that is on its way will take; one that is whole is with whoever answers.
  std::size_t expected_bytes() const;

  // A request, where the bytes complete one; then answer() is due.
  std::optional<HttpRequest> read(std::string_view bytes, Clock::time_point now);
  void answer(const HttpResponse& response, Clock::time_point now);

  std::string_view to_write() const { return std::string_view(out_).substr(written_); }
  // So many bytes of it are gone. After a whole answer the next request may be there already.
  std::optional<HttpRequest> wrote(std::size_t bytes, Clock::time_point now);

  void ended(Clock::time_point now);  // the other side will send no more
  // Moves on where time is up.
  void tick(Clock::time_point now);

  bool answers() const { return !continues_; }  // what is written is an answer, not only leave to go on

  // For the log: of the answer that was written last.
  int status() const { return status_; }
  std::size_t answer_bytes() const { return out_.size(); }
  std::size_t written_bytes() const { return state_ == State::kWorking ? 0 : written_; }
  Clock::time_point began() const { return began_; }   // when its request was whole or refused
  const std::string& asked() const { return asked_; }  // "GET /"

 private:
  std::optional<HttpRequest> advance(Clock::time_point now);
  void refuse(const HttpResponse& response, Clock::time_point now);
  bool is_crawling(Clock::time_point now) const;  // its body comes too slowly

  ConnectionTimes times_;
  LimitOf body_limit_;
  HttpReader reader_;
  State state_ = State::kReading;
  Clock::time_point since_, began_, deadline_, body_began_;
  std::string out_, asked_;
  std::size_t written_ = 0;
  int status_ = 0;
  bool keep_alive_ = true, head_only_ = false, continues_ = false;
};

}  // namespace foretrain
