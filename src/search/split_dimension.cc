#include "search/split_dimension.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "job/pipeline.h"
#include "job/split.h"
#include "spec/plan_fields.h"
#include "spec/plan_text.h"
#include "timeline/schedule.h"

namespace foretrain {
namespace {

using Values = std::vector<Value>;
using std::int64_t;

constexpr Value kSplitBase = 1 << 20;          // more than a model has layers
constexpr Value kGivenSplit = Value{1} << 50;  // and the constraint's place in the list

// Whether a split by stage is what the stack's rule gives anyway, chunk by chunk.
bool is_rule(const Problem& problem, const Candidate& c, const std::vector<int64_t>& stages) {
  const Pipeline pipeline = pipeline_of(c.plan);
  const auto rule = split_layers(problem.model, problem.stack.pipeline.split, pipeline.model_chunks());
  for (int64_t n = 0; n < pipeline.pieces(); ++n) {
    const int64_t of_stage = stages[static_cast<std::size_t>(pipeline.rank(n))];
    const int64_t of_chunk = rule[static_cast<std::size_t>(n) % rule.size()];
    const int64_t chunks = runs_both_ways(pipeline.schedule) ? 1 : pipeline.chunks_per_stage;
    if (of_stage != of_chunk * chunks) return false;
  }
  return true;
}

// Embedding and head, in the layers that have as many parameters.
int64_t layers_of_ends(const Model& model) {
  int64_t blocks = 0;
  for (const BlockRun& run : model.blocks) blocks += run.count * block_parameters(model, run.block);
  const int64_t block = blocks / model.layers();  // the mean, where they differ
  return (2 * model.vocab * model.hidden + position_parameters(model) + block - 1) / block;
}

// Neither end more than an even share, as it holds the embedding or the head besides; and no stage more than
// if these were shared out too, as layers. Two stages are both ends.
void split_values(const Problem& problem, const Candidate& c, Values& out) {
  const int64_t layers = problem.model.layers(), pp = c.plan.pp;
  out.push_back(0);
  if (pp == 1) return;
  for (std::size_t i = 0; i < problem.given_splits.size(); ++i) {
    const auto& split = problem.given_splits[i];
    const auto size = static_cast<int64_t>(split.size());
    if (std::accumulate(split.begin(), split.end(), int64_t{0}) != layers) continue;
    if (size == pp || size == pipeline_of(c.plan).model_chunks())
      out.push_back(kGivenSplit + static_cast<Value>(i));
  }
  if (!problem.given_splits.empty()) return;
  const int64_t share = (layers + pp - 1) / pp;
  const int64_t most = std::min(layers, (layers + layers_of_ends(problem.model) + pp - 1) / pp);
  const auto add = [&](int64_t first, int64_t last) {
    const Value value = split_value(first, last);
    if (first < share - 1 || last < share - 1 || !is_rule(problem, c, layers_of_split(problem, pp, value)))
      out.push_back(value);
  };
  if (pp == 2) {
    for (int64_t first = layers - most; first <= most; ++first) add(first, layers - first);
    return;
  }
  for (int64_t first = share; first >= 0; --first)
    for (int64_t last = share; last >= 0; --last)
      if (const int64_t rest = layers - first - last; rest >= pp - 2 && rest <= most * (pp - 2))
        add(first, last);
}

void put_split(const Problem& problem, Candidate& c, Value value) {
  fill_split(problem, c.plan.pp, value, c.plan.layers_per_stage);
}

Value get_split(const Problem& problem, const Candidate& c) {
  const auto& stages = c.plan.layers_per_stage;
  if (stages.empty()) return 0;
  for (std::size_t i = 0; i < problem.given_splits.size(); ++i)
    if (problem.given_splits[i] == stages) return kGivenSplit + static_cast<Value>(i);
  const Value value = split_value(stages.front(), stages.back());
  return layers_of_split(problem, c.plan.pp, value) == stages ? value : kUnset;
}

// A split by hand becomes one of the problem's own.
Result<Value> read_split(Problem& problem, std::string_view word) {
  constexpr std::string_view kKey = plan_field<&Plan::layers_per_stage>.key;
  if (word == "even" || word == "stack") return 0;
  TRY_ASSIGN(const Plan plan, parse_plan(fmt::format("{}={}", kKey, word)));
  auto& known = problem.given_splits;
  const auto found = std::find(known.begin(), known.end(), plan.layers_per_stage);
  if (found == known.end()) known.push_back(plan.layers_per_stage);
  return get_split(problem, Candidate{0, plan});
}

std::string split_text(const Candidate& c) {
  if (c.plan.layers_per_stage.empty()) return "even";
  return fmt::format("{}", fmt::join(c.plan.layers_per_stage, "-"));
}

}  // namespace

Value split_value(int64_t first, int64_t last) { return 1 + first * kSplitBase + last; }

std::vector<int64_t> layers_of_split(const Problem& problem, int64_t pp, Value value) {
  CHECK_THAT(value > 0);
  std::vector<int64_t> stages;
  fill_split(problem, pp, value, stages);
  return stages;
}

void fill_split(const Problem& problem, int64_t pp, Value value, std::vector<int64_t>& stages) {
  stages.clear();
  if (value == 0) return;
  CHECK_THAT(value > 0 && pp > 1);
  if (value >= kGivenSplit) {
    stages = problem.given_splits[static_cast<std::size_t>(value - kGivenSplit)];
    return;
  }
  const int64_t first = (value - 1) / kSplitBase, last = (value - 1) % kSplitBase;
  const int64_t inner = pp - 2, rest = problem.model.layers() - first - last;
  stages.push_back(first);
  for (int64_t s = 0; s < inner; ++s) stages.push_back(rest / inner + (s >= inner - rest % inner ? 1 : 0));
  stages.push_back(last);
}

bool is_split(const Dimension& dimension) { return dimension.get == get_split; }

Dimension split_dimension() {
  Dimension d{plan_field<&Plan::layers_per_stage>.key,
              {},
              Scope::kSearched,
              true,
              split_values,
              put_split,
              get_split};
  d.read = read_split;
  d.text = split_text;
  return d;
}

}  // namespace foretrain
