// What a search answers: the best plans with their predictions, the front, what limits the best, which plans
// it cannot tell apart; why a plan that somebody expected is not the best; what would be with one thing
// changed; and, where nothing fits, the smallest changes that would.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/field_mark.h"
#include "predict/evaluator.h"
#include "predict/prediction.h"
#include "search/engine.h"
#include "search/ties.h"
#include "search/what_if.h"

namespace foretrain {

struct RankedPlan {
  ScoredPlan scored;
  Run run;  // checked
  Prediction prediction;
  // Frameworks that launch it, where the search was for any (of what is listed).
  std::optional<std::vector<std::string>> launched_by = std::nullopt;
};

struct TiedPlan {
  std::size_t rank = 0;  // in `best`
  Tie tie;               // with the first
};

// A plan of a family that makes another choice than the family's best, the nearest that does.
struct FamilyVariant {
  std::string change;  // "schedule=zbv"
  ScoredPlan scored;
  Plan plan;
  Tie tie;  // with the family's best
};

// One way to split model and data, with all plans kept that have it (list_family.h).
struct ListFamily {
  RankedPlan best;
  std::size_t plans = 0;   // of those kept, the best among them
  ScoredPlan last;         // the last of them
  std::optional<Tie> tie;  // of its best with the first family's; absent of the first
  std::vector<FamilyVariant> variants;
};

// One change of a plan that was asked for, after which there is one.
struct NearPlan {
  std::string change;  // "pp=4 instead of pp=2"
  RankedPlan plan;
};

struct Why {
  std::string asked;     // as given
  std::string rejected;  // the rule, constraint or limit; empty: it is only slower, or the best itself
  std::optional<RankedPlan> plan;  // the best plan that is as asked; where it does not fit, the smallest
  std::size_t better = 0;          // of the best plans kept, those before it
  bool beyond = false;             // it comes after all of these
  std::vector<NearPlan> near;      // where it is rejected
  std::optional<Tie> tie;          // with the best
};

struct WhatIfAnswer {
  std::string text;
  SearchCounts counts{};
  std::optional<RankedPlan> best{};
  std::string refused{};  // why there is none
  bool changes = true;    // something that is told of the best plan, or the plan itself
};

struct SearchAnswer {
  Problem problem;
  SearchOptions options;
  std::string profile;
  std::vector<std::string> constraints;  // in words, fields marked (base/field_mark.h)
  std::vector<LeftOut> left_out;         // likewise
  std::optional<double> tokens;
  SearchResult result;
  std::vector<RankedPlan> best;      // the first of result.best
  std::vector<TiedPlan> ties;        // of `best`
  std::vector<ListFamily> families;  // as many of result.best as `best` has plans
  std::string list_note;             // what the families are of, where they fold any; fields marked
  std::vector<RankedPlan> pareto;    // result.pareto
  std::vector<std::string> assumed;
  std::vector<NearPlan> would_fit;     // where nothing fits
  std::optional<RankedPlan> smallest;  // likewise: the plan with the least memory
  std::vector<Why> whys;
  std::vector<WhatIfAnswer> what_ifs;

  // Of a search that was stopped: how much better than the best that it tells another plan can be, as a share of it.
  // Nothing: it was not stopped, found no plan, or has no bound (of energy).
  std::optional<double> gap() const;
};

// A batch of a length, where several are searched.
struct BatchPoint {
  std::int64_t seq = 0;
  std::int64_t global_batch = 0;
  std::string refused{};  // why no run can have it
};

// Several lengths and batches: a point each, batches of the first length first.
struct BatchPoints {
  std::vector<std::string> seqs, batches;  // in words: "4096", "512" or "4096ktok"
  std::vector<BatchPoint> points;

  bool several() const { return points.size() > 1; }
};

// What a cluster and its operators are taken to be where sequences are so long.
struct LengthSetting {
  Cluster cluster;
  std::shared_ptr<const CostSource> costs;
};

struct AnswerRequest {
  Problem problem;
  BatchPoints over;  // where there are several, the problem is the first that can be
  Constraints constraints;
  SearchOptions options;  // its limits are worked out from what follows
  std::function<Result<std::shared_ptr<const CostSource>>(const Cluster&)> costs_for;
  // Of several lengths, where they differ by it; empty: the problem's cluster holds for all.
  std::function<LengthSetting(std::int64_t seq)> at_length;
  std::string profile;
  // Stacks of frameworks that plans are marked with, where the problem's own is of none; asked for when plans are known. Of a
  // small search it is much of the work to read them: `read_stack` reads one of them, from any thread; false: none is left.
  std::function<const std::vector<Stack>&()> frameworks;
  std::function<bool()> read_stack;
  double headroom_share = 0;  // of usable memory, to be left free
  Bytes headroom;             // likewise, in bytes
  std::optional<double> tokens, deadline_s, budget_usd;
  std::optional<double>
      time_s;  // that the search may take: then it tells the best so far, and how far that may be off
  std::size_t top = 10;
  std::vector<std::string> whys;
  std::vector<std::string> what_ifs;
  std::vector<std::string> assumed;  // before any plan
};

// What is wrong with the words of `whys` and `what_ifs`, for who wants to know before the work begins.
Result<void> check_questions(const AnswerRequest& request);

// Refuses what is wrong with the request before it searches. Texts of the answer that speak of fields of
// requests hold marks (base/field_mark.h): spell() puts the asker's own words in their place.
Result<SearchAnswer> answer_search(const AnswerRequest& request);
void spell(SearchAnswer& answer, const FieldWords& words);

}  // namespace foretrain
