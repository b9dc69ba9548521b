// Many plans as columns: of each key of a plan an array with a value for every plan, as data frames keep them.
//   tp          1 2 4 8            numbers
//   recompute   0 0 1 2            words by their codes, of the field's own words: none, selective, full
//   precision   0 0 1 1            or of words that come with the column: bf16, fp8-delayed
// A value that is missing (kMissing, NaN) leaves what the plan that they start from says. Words are read by the reader
// of plans (spec/plan_text.h), all those of a plan at once, since one may say two things (attention=flash2) or take
// back what another said; so words of one combination are read once, however many plans have it.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "spec/plan.h"

namespace foretrain {

inline constexpr std::int64_t kMissing = std::numeric_limits<std::int64_t>::min();

struct PlanColumn {
  std::string key;
  std::variant<std::span<const std::int64_t>, std::span<const double>> values;
  std::vector<std::string_view> words = {};  // that the values are codes of, from 0; a negative code: missing
};

class PlanColumns {
 public:
  // Refuses keys that no plan has, one that stands twice, and words or their absence where the field has none.
  // What columns refer to must be there as long as this.
  // REQUIRES: each column has a value for each plan
  static Result<PlanColumns> make(std::vector<PlanColumn> columns, Plan start, std::size_t plans);

  std::size_t plans() const { return plans_; }
  // As its columns state it, not checked (job/run_check.h). Good until the next one.
  // REQUIRES: i < plans()
  Result<const Plan*> plan(std::size_t i);

 private:
  struct Column {
    PlanColumn stated;
    std::size_t field = 0;  // of kPlanFields
  };
  using Codes = std::vector<std::int64_t>;  // of a plan's words; kMissing where there is none

  PlanColumns() = default;
  Result<void> add(PlanColumn column);
  Result<Plan> read_words(const Codes& codes) const;

  Plan start_;
  std::size_t plans_ = 0;
  std::vector<Column> numbers_, words_;
  std::map<Codes, Result<Plan>> read_;  // by combination of words
  Codes codes_;
  const Result<Plan>* with_words_ = nullptr;  // of codes_
  Plan plan_;
};

// The keys of a plan as JSON, in the order of their table: what each may hold, and the codes of its words.
std::string plan_fields_json();

}  // namespace foretrain
