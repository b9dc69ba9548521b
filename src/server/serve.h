// A server from its start to its end: the thread of connections, those that answer questions, each with a session of its
// own, and one that runs searches, at a lower priority, on all cores but one.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "base/files.h"
#include "server/listener.h"

namespace foretrain {

struct ServeOptions {
  std::string host = "127.0.0.1";
  int port = 0;  // 0: one that is free
  std::string presets;
  ListenerLimits connections;
  SearchJobLimits searches;
  std::size_t most_waiting = 256;  // questions
  // At the end, how long what is under way may go on; then `give_up` is called, which does not return.
  std::chrono::milliseconds patience{3000};
  std::function<void()> give_up;
};

// Returns once `stop` is set, with answers that were under way told. `started` is called once connections are taken.
// `files` is read from before that, for the presets, and never after.
Result<void> serve(const Files& files, const ServeOptions& options, const std::atomic<bool>& stop,
                   const std::function<void(int port)>& started, const Listener::Log& log);

}  // namespace foretrain
