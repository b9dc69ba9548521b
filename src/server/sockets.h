// The few system calls of a server's sockets, with file descriptors that close themselves. Errors are Results.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace foretrain {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();
  int number() const { return number_; }

 private:
  int number_ = -1;
};

struct Listening {
  Descriptor socket;
  int port = 0;  // the one that the system chose, where 0 was asked for
};
// Not blocking. `host` is an address or a name that leads to one.
Result<Listening> listen_at(const std::string& host, int port);

struct Accepted {
  Descriptor socket;
  std::string from;  // the other side's address
};
// None of a number below 0: nobody is waiting.
Accepted accept_one(const Descriptor& listening);

}  // namespace foretrain
