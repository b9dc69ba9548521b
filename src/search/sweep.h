// Several batches or sequence lengths: problems of their own, each searched by itself for its best plan (and the fastest of
// each GPU count, where there are several). They share what they can: evaluators where the length is the same, and what
// is found at one point is where the search at the next one starts. A time that the search may take is dealt out to the
// points that are left.
#pragma once

#include "search/answer.h"

namespace foretrain {

struct SweepPoint {
  BatchPoint at;
  std::string refused;    // why it has no plan; empty: there is one
  SearchAnswer answer{};  // without families, ties and questions; its front is that of GPUs and step alone
};

struct SweepAnswer {
  BatchPoints over;
  std::vector<SweepPoint> points;  // as in `over`
  SearchCounts counts;             // of all points together
  double seconds = 0;
  bool interrupted = false;
  bool counted = true;  // of all points every plan
  std::vector<std::string> assumed;
  std::vector<LeftOut> left_out;  // with the lengths, where it is not so of all

  // Of a point that was searched: what holds for all.
  const SearchAnswer& any() const;
  // The most tokens a second and GPU of any point.
  double best_per_gpu() const;
};

// REQUIRES: request.over.several()
Result<SweepAnswer> answer_sweep(const AnswerRequest& request);
void spell(SweepAnswer& answer, const FieldWords& words);

}  // namespace foretrain
