// Every legal plan for a model on a cluster, the best of them, and why not another.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ask/session.h"
#include "base/files.h"
#include "calibrate/calibration.h"
#include "search/answer.h"
#include "search/sweep.h"

namespace foretrain {

// Words as they were given; empty: not given. global_batch and seq may be lists and ranges (number_range.h).
struct SearchRequest {
  std::vector<Source>
      runs;  // at most one: what it states holds where no word is given; its plan is left to the search
  std::string model, cluster, gpus, global_batch, seq, documents, stack, profile, task;
  std::string calibration;  // a folder of calibrate's, that the search stands on
  std::vector<std::string> set, range, forbid, why, what_if;
  std::string top, objective, tokens, deadline, budget, headroom, threads, time;
  std::string
      launch;  // a format (ask/launch.h): plans that its framework runs, the best of which is launched
};

// Everything that can be wrong with a request comes before the work, so that who wants to can open its own
// files in between. What is prepared may be watched (its options: stop, progress, evaluated, team), and
// refers to the session.
Result<AnswerRequest> prepare(Session& session, const SearchRequest& request);
Result<SearchAnswer> ask(const AnswerRequest& prepared);
// Of several batches or lengths (prepared.over.several()), which are searches of their own.
Result<SweepAnswer> ask_sweep(const AnswerRequest& prepared);

// Both in one, of one batch and length.
Result<SearchAnswer> ask(Session& session, const SearchRequest& request);

// What a search's plans stand on where its request names a calibration: that, and the cluster as it was stated. It holds what
// it needs of the request's files.
struct Footing {
  Calibration calibration;
  Cluster stated;
  std::shared_ptr<const CostSource> costs;  // of it
};
Result<std::optional<Footing>> footing(Session& session, SearchRequest request);

// How the best plan of an answer stands there; none: there is no plan. Intervals of the plans that the answer tells become
// those that the calibration leaves.
std::optional<Standing> stand(const Footing& footing, SearchAnswer& answer);
void stand(const Footing& footing, SweepAnswer& answer);
// Both in one.
Result<std::optional<Standing>> stand(Session& session, const SearchRequest& request, SearchAnswer& answer);
Result<void> stand(Session& session, const SearchRequest& request, SweepAnswer& answer);

}  // namespace foretrain
