// The thread that owns all connections: it accepts, reads, hands questions to those who answer them, writes and ends what
// does not move. It waits for all of them at once (epoll), so that a client that stalls costs a few bytes and no thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/connection.h"
#include "server/service.h"
#include "server/sockets.h"
#include "server/work_queue.h"

namespace foretrain {

struct ListenerLimits {
  std::size_t connections = 512;
  std::size_t held_bytes = std::size_t{256} << 20;  // of bodies, on their way or with who answers
  std::chrono::milliseconds farewell{3000};         // for answers that are under way at the end
  ConnectionTimes times;
};

class Listener {
 public:
  using Log = std::function<void(const std::string& line)>;

  Listener(Service& service, WorkQueue& queue, const ListenerLimits& limits, Log log);

  Result<void> listen(const std::string& host, int port);
  int port() const { return listening_.port; }

  // Until `stop`, and then no longer than it takes to tell answers that are under way. `every_second` is for who has
  // something to look after, at the end once more; where it returns false there is nobody to answer.
  void run(const std::atomic<bool>& stop, const std::function<bool()>& every_second);

  // From any thread: the answer to a WorkItem.
  void answer(std::uint64_t connection, HttpResponse response);

 private:
  struct Client {
    Descriptor socket;
    std::string from;
    Connection connection;
    std::uint32_t watched = 0;  // events of epoll
    Waiting waiting{};
  };
  using Clients = std::unordered_map<std::uint64_t, Client>;

  void wait_and_serve();
  void accept_all();
  bool accept_next();  // false: nobody is waiting
  bool make_room();    // for one more connection
  void serve(std::uint64_t id, std::uint32_t events);
  void read_some(std::uint64_t id, Client& client);
  void write_some(std::uint64_t id, Client& client);
  void handle(std::uint64_t id, Client& client, HttpRequest request);
  void deliver();
  void settle(std::uint64_t id);  // after anything happened: watches for what comes next, or closes
  void tick();
  void note(const Client& client) const;
  void note_left(const Client& client) const;  // before its answer was told, or read
  void drop(Clients::iterator client);
  // Where memory runs out this one goes, and the others stay.
  template <class Work>
  void guard(std::uint64_t id, const Work& work) {
    try {
      work();
    } catch (const std::exception&) {
      clients_.erase(id);
    }
  }
  bool is_busy() const;  // somebody waits for an answer
  BodyLimit body_limit(const HttpRequest& head) const;

  Service& service_;
  WorkQueue& queue_;
  ListenerLimits limits_;
  Log log_;
  Listening listening_;
  Descriptor epoll_, wake_;
  bool stopping_ = false;
  std::uint64_t next_id_ = 2;  // after those of the listening socket and of wake_
  Clients clients_;
  std::mutex mutex_;
  std::vector<std::pair<std::uint64_t, HttpResponse>> answers_;
};

}  // namespace foretrain
