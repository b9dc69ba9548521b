// A run that is asked about plan after plan.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <foretrain/foretrain.h>
#include "ask/predict.h"
#include "library/plan_columns.h"
#include "library/pool.h"
#include "library/session.h"
#include "predict/evaluator.h"
#include "spec/run.h"

namespace foretrain {

class OpenRun {
 public:
  static Result<std::unique_ptr<OpenRun>> make(std::shared_ptr<Place> place, std::string_view request);

  const Run& start() const { return start_; }  // not checked: its plan is where others start from

  // Of the start's plan with these keys changed.
  Result<std::string> predict(std::string_view plan);
  Result<foretrain_score> score(std::string_view plan);

  Result<int> score(PlanColumns columns, const foretrain_scores& out);
  // Why no run can have the plan of a row; none: one can.
  Result<std::optional<Error>> refusal(PlanColumns columns, std::size_t i) const;

 private:
  class Memo {
   public:
    Memo(const Run& run, std::shared_ptr<const CostSource> costs);
    Evaluator& evaluator();  // for one plan

   private:
    const Run& run_;
    std::shared_ptr<const CostSource> costs_;
    std::optional<Evaluator> evaluator_;
    std::size_t asked_ = 0;
  };
  OpenRun(PredictRequest request, Run start, std::shared_ptr<const CostSource> costs);
  Result<Run> changed(std::string_view plan) const;

  PredictRequest request_;
  Run start_;
  std::shared_ptr<const CostSource> costs_;
  Pool<Memo> memos_;
};

}  // namespace foretrain

struct foretrain_run {
  std::unique_ptr<foretrain::OpenRun> open;
};
