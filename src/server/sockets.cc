#include "server/sockets.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/text.h"

namespace foretrain {
namespace {

constexpr int kBacklog = 512;

// A pointer that the system calls take: their addresses are of several kinds, told by the first member of each.
sockaddr* as_address(sockaddr_storage& storage) {
  return static_cast<sockaddr*>(static_cast<void*>(&storage));
}

int port_of(int socket) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  if (::getsockname(socket, as_address(at), &size) != 0) return 0;
  if (at.ss_family == AF_INET6) return ntohs(static_cast<sockaddr_in6*>(static_cast<void*>(&at))->sin6_port);
  return ntohs(static_cast<sockaddr_in*>(static_cast<void*>(&at))->sin_port);
}

tl::unexpected<Error> cannot_listen(const std::string& host, int port, const std::string& why) {
  return tl::unexpected(Error{fmt::format("cannot listen at {} port {}: {}", quoted(host), port, why),
                              {},
                              "port",
                              ErrorKind::kMachine});
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

Result<Listening> listen_at(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const std::string service = fmt::format("{}", port);
  if (const int wrong = ::getaddrinfo(host.c_str(), service.c_str(), &hints, &found); wrong != 0)
    return fail_field("host", fmt::format("found {}: {}", quoted(host), ::gai_strerror(wrong)));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, ::freeaddrinfo);
  int problem = 0;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    Descriptor socket(
        ::socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, at->ai_protocol));
    const int on = 1;
    if (socket.number() >= 0) ::setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (socket.number() >= 0 && ::bind(socket.number(), at->ai_addr, at->ai_addrlen) == 0 &&
        ::listen(socket.number(), kBacklog) == 0) {
      const int got = port_of(socket.number());
      return Listening{std::move(socket), got};
    }
    problem = errno;
  }
  return cannot_listen(host, port, std::strerror(problem));
}

Accepted accept_one(const Descriptor& listening) {
  sockaddr_storage from{};
  socklen_t size = sizeof from;
  Descriptor socket(::accept4(listening.number(), as_address(from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.number() < 0) return {};
  const int on = 1;
  ::setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::array<char, NI_MAXHOST> name{};
  if (::getnameinfo(as_address(from), size, name.data(), name.size(), nullptr, 0, NI_NUMERICHOST) != 0)
    name[0] = '\0';
  return {std::move(socket), name.data()};
}

}  // namespace foretrain
