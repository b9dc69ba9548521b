// The threads of a search, each with an evaluator of its own.
#pragma once

#include <functional>
#include <memory>

#include "search/evaluators.h"

namespace foretrain {

class Workers {
 public:
  // wanted <= 0: as many as the machine has. `beside`: a piece of other work, which threads do that have nothing left while
  // others are busy; false: there is none left.
  Workers(Evaluators& evaluators, int wanted, std::function<bool()> beside = nullptr);

  // Calls work(i, thread) for each i below count, `at_once` of them in a row. Neighbours are mostly one thread's, as they
  // have much in common that its evaluator remembers. Where one throws (it ran out of memory), the others end soon.
  void each(std::size_t count, std::size_t at_once,
            const std::function<void(std::size_t, std::size_t)>& work);

  Evaluator& evaluator(std::size_t thread) { return evaluators_.of(thread); }
  int wanted() const { return wanted_; }
  int had() const { return had_; }  // the fewest that worked at once

 private:
  Evaluators& evaluators_;
  std::function<bool()> beside_;
  int wanted_ = 1;
  int had_ = 1;
};

}  // namespace foretrain
