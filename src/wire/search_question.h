// A search as a question in JSON: read and checked first, then run by whoever owns the thread, who may watch and stop it.
#pragma once

#include <string>
#include <string_view>

#include "ask/search.h"
#include "wire/request_keys.h"

namespace foretrain {

class SearchQuestion {
 public:
  void declare(RequestKeys& keys);
  Result<void> prepare(Session& session);

  // After prepare(): its options may be set (stop, progress, threads) before the answer is asked for.
  AnswerRequest& prepared() { return prepared_; }
  // The bytes of search --json; of a search that was stopped, with what it knew by then.
  Result<std::string> answer(const Session& session) const;

 private:
  SearchRequest request_;
  std::optional<Source> run_;
  AnswerRequest prepared_;
  std::optional<Footing> footing_;
};

// {"decided": N, "all": N, "best_s": s, "gap": share, "point": N, "points": N}: null is not known yet.
std::string progress_json(const SearchProgress& progress);

}  // namespace foretrain
