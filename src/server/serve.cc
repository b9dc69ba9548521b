#include "server/serve.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "ask/guard.h"
#include "base/threads.h"
#include "wire/held_files.h"

namespace foretrain {
namespace {

constexpr int kSearchNiceness = 10;
constexpr double kMostSeconds = 30;               // of a question that says itself how long it looks
constexpr std::size_t kMostRows = 20'000;         // of measured runs, which take 27 KiB each
constexpr std::chrono::milliseconds kPause(100);  // until memory may be there again
constexpr std::size_t kOtherDescriptors = 32;

int cores() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

// As many as descriptors allow.
std::size_t most_connections(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  const auto allowed = static_cast<std::size_t>(limit.rlim_cur);
  return std::min(wanted, allowed > 2 * kOtherDescriptors ? allowed - kOtherDescriptors : kOtherDescriptors);
}

std::string machine_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

class Server {
 public:
  Server(const HeldFiles& presets, const ServeOptions& options, const Listener::Log& log)
      : presets_(presets),
        options_(options),
        service_(Hosts(options.host, machine_name()), options.searches),
        queue_(options.most_waiting, static_cast<std::size_t>(workers() - 1)),
        listener_(service_, queue_, limits(options), log) {}

  Result<void> listen() { return listener_.listen(options_.host, options_.port); }
  int port() const { return listener_.port(); }

  // Thread 0 has the connections, 2 the searches, the others answer questions.
  Result<void> run(const std::atomic<bool>& stop) {
    run_on_threads(workers() + 2, [&](int thread) {
      if (thread == 0)
        own_connections(stop);
      else if (thread == 2)
        keep_on([this] { run_searches(); });
      else
        keep_on([this] { answer_questions(); });
    });
    if (stop) return {};
    return tl::unexpected(
        Error{"the system gives no threads to answer questions", {}, {}, ErrorKind::kMachine});
  }

 private:
  struct AtWork {
    explicit AtWork(std::atomic<int>& count) : count_(count) { ++count_; }
    AtWork(const AtWork&) = delete;
    AtWork& operator=(const AtWork&) = delete;
    ~AtWork() { --count_; }
    std::atomic<int>& count_;
  };

  // One that is not taken up by what may take long, at the least.
  static int workers() { return std::max(2, cores()); }

  static ListenerLimits limits(const ServeOptions& options) {
    ListenerLimits limits = options.connections;
    limits.connections = most_connections(limits.connections);
    return limits;
  }

  // Whatever ends this ends the others.
  void own_connections(const std::atomic<bool>& stop) {
    struct Closing {
      Server& server;
      ~Closing() {
        server.queue_.close();
        server.service_.jobs().close();
      }
    } const closing{*this};
    run_connections(stop);
    queue_.close();
    service_.jobs().close();
    const auto end = std::chrono::steady_clock::now() + options_.patience;
    while (at_work_ > 0 && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (at_work_ > 0 && options_.give_up) options_.give_up();
  }

  void run_connections(const std::atomic<bool>& stop) {
    listener_.run(stop, [&] {
      if (stop) service_.jobs().close();
      service_.jobs().tidy(SearchJobs::Clock::now());
      return has_worker_ && has_runner_;
    });
  }

  // Does the work until it ends by itself. What it throws (memory that runs out where nothing guards) ends this round of it:
  // a thread less would be one that nobody starts again.
  template <class Work>
  static void keep_on(const Work& work) {
    while (!guarded([&]() -> Result<void> {
      work();
      return {};
    }))
      std::this_thread::sleep_for(kPause);
  }

  void answer_questions() {
    JsonSession session(presets_, options_.presets);
    has_worker_ = true;
    while (auto item = queue_.take()) {
      const AtWork at_work(at_work_);
      HttpResponse response = answer(*item, session);
      queue_.done(*item);
      // An answer that nobody gets told would keep its connection for good.
      while (!guarded([&]() -> Result<void> {
        listener_.answer(item->connection, std::move(response));
        return {};
      })) {
        std::this_thread::sleep_for(kPause);
        response = {.status = 503};
      }
    }
  }

  HttpResponse answer(const WorkItem& item, JsonSession& session) {
    const VerbBounds bounds{kMostSeconds, std::max(1, cores() - 1), kMostRows, item.left.get()};
    auto response =
        guarded([&]() -> Result<HttpResponse> { return service_.answer(item.request, session, bounds); });
    if (response) return *std::move(response);
    auto told = guarded([&]() -> Result<HttpResponse> { return refusal(503, response.error().message); });
    return told ? *std::move(told) : HttpResponse{.status = 503};
  }

  void run_searches() {
    ::setpriority(PRIO_PROCESS, 0, kSearchNiceness);  // of this thread, and of those that it starts
    JsonSession session(presets_, options_.presets);
    has_runner_ = true;
    while (const auto job = service_.jobs().take()) {
      const AtWork at_work(at_work_);
      const auto ran = guarded([&]() -> Result<void> {
        service_.run_search(*job, session, std::max(1, cores() - 1));
        return {};
      });
      if (!ran) service_.jobs().finish(*job, tl::unexpected(ran.error()), SearchJobs::Clock::now());
    }
  }

  const HeldFiles& presets_;
  const ServeOptions& options_;
  Service service_;
  WorkQueue queue_;
  Listener listener_;
  std::atomic<bool> has_worker_ = false, has_runner_ = false;
  std::atomic<int> at_work_ = 0;  // threads, on questions and searches
};

}  // namespace

Result<void> serve(const Files& files, const ServeOptions& options, const std::atomic<bool>& stop,
                   const std::function<void(int port)>& started, const Listener::Log& log) {
  TRY_ASSIGN(const HeldFiles presets, folder_held(files, options.presets));
  Server server(presets, options, log);
  TRY(server.listen());
  started(server.port());
  return server.run(stop);
}

}  // namespace foretrain
