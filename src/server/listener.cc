#include "server/listener.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "base/text.h"

namespace foretrain {
namespace {

constexpr std::uint64_t kListening = 0, kWake = 1;
constexpr int kTickMilliseconds = 100;
constexpr std::size_t kMostShownPath = 200;

using Clock = Connection::Clock;

}  // namespace

Listener::Listener(Service& service, WorkQueue& queue, const ListenerLimits& limits, Log log)
    : service_(service),
      queue_(queue),
      limits_(limits),
      log_(std::move(log)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

Result<void> Listener::listen(const std::string& host, int port) {
  TRY_ASSIGN(listening_, listen_at(host, port));
  for (const auto& [descriptor, id] :
       {std::pair{listening_.socket.number(), kListening}, {wake_.number(), kWake}}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = id;
    if (::epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, descriptor, &event) != 0)
      return tl::unexpected(Error{"cannot watch sockets", {}, {}, ErrorKind::kMachine});
  }
  return {};
}

void Listener::answer(std::uint64_t connection, HttpResponse response) {
  {
    const std::lock_guard lock(mutex_);
    answers_.emplace_back(connection, std::move(response));
  }
  const std::uint64_t one = 1;
  // Where the count is full already somebody else has woken us.
  [[maybe_unused]] const ssize_t written = ::write(wake_.number(), &one, sizeof one);
}

bool Listener::is_busy() const {
  return std::any_of(clients_.begin(), clients_.end(), [](const auto& entry) {
    const Connection::State state = entry.second.connection.state();
    return state == Connection::State::kWorking || state == Connection::State::kWriting;
  });
}

void Listener::run(const std::atomic<bool>& stop, const std::function<bool()>& every_second) {
  Clock::time_point last_tick = Clock::now(), last_second = last_tick, end{};
  while (!stopping_ || (is_busy() && last_tick < end)) {
    wait_and_serve();
    const Clock::time_point now = Clock::now();
    if (stop && !stopping_) {
      stopping_ = true;
      end = now + limits_.farewell;
      listening_ = {};  // nobody else comes in
      every_second();
    }
    if (now - last_tick >= std::chrono::milliseconds(kTickMilliseconds)) {
      last_tick = now;
      tick();
    }
    if (now - last_second < std::chrono::seconds(1)) continue;
    last_second = now;
    if (!every_second()) break;
  }
  clients_.clear();
}

void Listener::wait_and_serve() {
  std::array<epoll_event, 64> events{};
  const int count =
      ::epoll_wait(epoll_.number(), events.data(), static_cast<int>(events.size()), kTickMilliseconds);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t id = events[static_cast<std::size_t>(i)].data.u64;
    if (id == kListening) {
      accept_all();
    } else if (id == kWake) {
      std::uint64_t times = 0;
      [[maybe_unused]] const ssize_t got = ::read(wake_.number(), &times, sizeof times);
      deliver();
    } else {
      serve(id, events[static_cast<std::size_t>(i)].events);
    }
  }
}

void Listener::accept_all() {
  try {
    while (accept_next()) continue;
  } catch (const std::exception&) {  // nobody is held of whom there is no memory to know
  }
}

bool Listener::accept_next() {
  Accepted accepted = accept_one(listening_.socket);
  if (accepted.socket.number() < 0) return false;
  // Who comes when nobody can be sent away is closed, unread.
  if (clients_.size() >= limits_.connections && !make_room()) return true;
  const std::uint64_t id = next_id_++;
  const int number = accepted.socket.number();
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = id;
  if (::epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, number, &event) != 0) return true;
  Connection connection(
      limits_.times, [this](const HttpRequest& head) { return body_limit(head); }, Clock::now());
  clients_.emplace(
      id, Client{std::move(accepted.socket), std::move(accepted.from), std::move(connection), EPOLLIN});
  return true;
}

// The one that has had nothing to ask for the longest goes.
bool Listener::make_room() {
  auto oldest = clients_.end();
  for (auto it = clients_.begin(); it != clients_.end(); ++it)
    if (it->second.connection.is_idle() &&
        (oldest == clients_.end() || it->second.connection.since() < oldest->second.connection.since()))
      oldest = it;
  if (oldest == clients_.end()) return false;
  clients_.erase(oldest);
  return true;
}

BodyLimit Listener::body_limit(const HttpRequest& head) const {
  std::size_t held = queue_.body_bytes();
  for (const auto& [id, client] : clients_) held += client.connection.expected_bytes();
  // Small bodies are always read: nobody can shut others out by what he says that he will send.
  constexpr std::size_t kAlways = std::size_t{1} << 20;
  const std::size_t left = limits_.held_bytes - std::min(held, limits_.held_bytes);
  return {service_.most_body(head), std::max(left, kAlways)};
}

void Listener::serve(std::uint64_t id, std::uint32_t events) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Client& client = found->second;
  // Who closes his side while he waits has left, as browsers do whose question has changed.
  const bool works = client.connection.state() == Connection::State::kWorking;
  if ((events & (EPOLLERR | EPOLLHUP)) != 0 || (works && (events & EPOLLRDHUP) != 0)) {
    drop(found);
    return;
  }
  guard(id, [&] {
    if ((events & EPOLLIN) != 0) read_some(id, client);
    settle(id);  // which writes
  });
}

void Listener::read_some(std::uint64_t id, Client& client) {
  std::array<char, 65536> buffer;
  const ssize_t got = ::recv(client.socket.number(), buffer.data(), buffer.size(), 0);
  const Clock::time_point now = Clock::now();
  if (got > 0) {
    auto request = client.connection.read({buffer.data(), static_cast<std::size_t>(got)}, now);
    if (request) handle(id, client, *std::move(request));
  } else if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
    client.connection.ended(now);
  }
}

void Listener::write_some(std::uint64_t id, Client& client) {
  while (client.connection.state() == Connection::State::kWriting) {
    const std::string_view bytes = client.connection.to_write();
    const bool answers = client.connection.answers();
    const ssize_t sent = ::send(client.socket.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    const Clock::time_point now = Clock::now();
    if (sent <= 0) {
      if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) drop(clients_.find(id));
      return;
    }
    const bool whole = static_cast<std::size_t>(sent) == bytes.size();
    if (whole && answers) note(client);
    auto request = client.connection.wrote(static_cast<std::size_t>(sent), now);
    if (client.connection.state() == Connection::State::kLingering)
      ::shutdown(client.socket.number(), SHUT_WR);
    if (request) {
      handle(id, client, *std::move(request));
      return;
    }
  }
}

void Listener::handle(std::uint64_t id, Client& client, HttpRequest request) {
  const Service::Work work = service_.work_of(request);
  if (stopping_) {
    client.connection.answer(refusal(503, "the server is ending"), Clock::now());
    return;
  }
  if (work == Service::Work::kNone) {
    client.connection.answer(service_.answer(request), Clock::now());
    return;
  }
  if (queue_.add({id, std::move(request), work == Service::Work::kHeavy, client.waiting.left()})) return;
  HttpResponse busy = refusal(429, "too many questions wait already: ask again in a second");
  busy.headers.emplace_back("Retry-After", "1");
  client.connection.answer(busy, Clock::now());
}

void Listener::deliver() {
  std::vector<std::pair<std::uint64_t, HttpResponse>> answers;
  {
    const std::lock_guard lock(mutex_);
    answers.swap(answers_);
  }
  for (auto& [id, response] : answers) {
    const auto found = clients_.find(id);
    if (found == clients_.end()) continue;  // it left meanwhile
    guard(id, [&, id = id] {
      found->second.connection.answer(response, Clock::now());
      settle(id);
    });
  }
}

void Listener::settle(std::uint64_t id) {
  // What can be written is written at once; what that makes room for may be answered at once.
  for (int round = 0; round < 16; ++round) {
    const auto found = clients_.find(id);
    if (found == clients_.end()) return;
    if (found->second.connection.state() != Connection::State::kWriting) break;
    const std::string_view before = found->second.connection.to_write();
    const std::size_t left = before.size();
    write_some(id, found->second);
    const auto after = clients_.find(id);
    if (after == clients_.end()) return;
    if (after->second.connection.state() == Connection::State::kWriting &&
        after->second.connection.to_write().size() >= left)
      break;
  }
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Client& client = found->second;
  const Connection::State state = client.connection.state();
  if (state == Connection::State::kClosed) {
    clients_.erase(found);
    return;
  }
  const bool reads = state == Connection::State::kReading || state == Connection::State::kLingering;
  const std::uint32_t writes = state == Connection::State::kWriting ? EPOLLOUT : 0u;
  const std::uint32_t works = state == Connection::State::kWorking ? EPOLLRDHUP : 0u;
  const std::uint32_t watched = reads ? std::uint32_t{EPOLLIN} : writes | works;
  if (watched == client.watched) return;
  epoll_event event{};
  event.events = watched;
  event.data.u64 = id;
  ::epoll_ctl(epoll_.number(), EPOLL_CTL_MOD, client.socket.number(), &event);
  client.watched = watched;
}

void Listener::tick() {
  const Clock::time_point now = Clock::now();
  std::vector<std::uint64_t> ids;
  ids.reserve(clients_.size());
  for (const auto& [id, client] : clients_) ids.push_back(id);
  for (const std::uint64_t id : ids)
    guard(id, [&] {
      Client& client = clients_.at(id);
      Connection& connection = client.connection;
      const Connection::State before = connection.state();
      connection.tick(now);
      if (before == Connection::State::kWriting && connection.state() == Connection::State::kClosed &&
          connection.answers())
        note_left(client);
      if (connection.state() != before) settle(id);
    });
  queue_.drop_left();
}

namespace {

std::string line_of(const std::string& from, const Connection& c, const std::string& status,
                    std::size_t bytes) {
  const double milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - c.began()).count();
  return fmt::format("{} \"{}\" {} {} bytes {:.1f} ms", from, printable(c.asked().substr(0, kMostShownPath)),
                     status, bytes, milliseconds);
}

}  // namespace

// 127.0.0.1 "POST /api/v1/predict" 200 1834 bytes 3.2 ms
void Listener::note(const Client& client) const {
  const Connection& c = client.connection;
  log_(line_of(client.from, c, fmt::format("{}", c.status()), c.answer_bytes()));
}

// 127.0.0.1 "POST /api/v1/over" left 0 bytes 812.4 ms
void Listener::note_left(const Client& client) const {
  log_(line_of(client.from, client.connection, "left", client.connection.written_bytes()));
}

void Listener::drop(Clients::iterator client) {
  const Connection::State state = client->second.connection.state();
  const bool writes = state == Connection::State::kWriting && client->second.connection.answers();
  if (state == Connection::State::kWorking || writes) note_left(client->second);
  clients_.erase(client);
}

}  // namespace foretrain
