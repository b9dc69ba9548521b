// What is answered to a request, whoever listens: the border's checks, the table of routes, jobs and the page behind it.
// Safe from any thread; a question is answered in the session of the thread that asks.
#pragma once

#include <string>

#include "server/border.h"
#include "server/message.h"
#include "server/page.h"
#include "server/routes.h"
#include "server/search_jobs.h"
#include "wire/json_session.h"

namespace foretrain {

class Service {
 public:
  Service(Hosts hosts, const SearchJobLimits& limits) : hosts_(std::move(hosts)), jobs_(limits, random_id) {}

  // Of a request whose head alone is known.
  std::size_t most_body(const HttpRequest& head) const;

  // Who has to answer: whoever reads it, at once; a thread with a session; and of these one of those that may take long.
  enum class Work : unsigned char { kNone, kQuick, kHeavy };
  Work work_of(const HttpRequest& request) const;

  HttpResponse answer(const HttpRequest& request);  // REQUIRES: Work::kNone
  HttpResponse answer(const HttpRequest& request, JsonSession& session,
                      const VerbBounds& bounds = {});  // of any

  SearchJobs& jobs() { return jobs_; }
  // Runs a search that was taken from the jobs in a session, on so many threads.
  void run_search(SearchJobs::Job& job, JsonSession& session, int threads);

 private:
  HttpResponse look(const std::string& id);
  HttpResponse start_search(const HttpRequest& request, JsonSession& session);

  Hosts hosts_;
  SearchJobs jobs_;
  Page page_;
};

}  // namespace foretrain
