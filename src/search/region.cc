#include "search/region.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "job/run_check.h"
#include "job/split.h"
#include "predict/floors.h"
#include "search/split_dimension.h"
#include "spec/plan_fields.h"

namespace foretrain {
namespace {

std::size_t region_depth() {
  static const auto depth =
      static_cast<std::size_t>(find_dimension(plan_field<&Plan::micro_batch>.key) - dimensions().data());
  return depth;
}

// Depth first through the dimensions from `depth` to `end`: calls leaf(family) with the candidate that has their values.
template <class Leaf>
void walk(const LegalValues& legal, Candidate& candidate, Family& family, std::size_t depth, std::size_t end,
          const Leaf& leaf) {
  if (depth == end) return leaf(family);
  const Dimension& dimension = dimensions()[depth];
  std::vector<Value> values;
  legal.fill(dimension, candidate, values);
  const auto go_on = [&](Value value) {
    dimension.put(legal.problem(), candidate, value);
    family.set(depth, value);
    walk(legal, candidate, family, depth + 1, end, leaf);
  };
  if (values.size() == 1) return go_on(values.front());  // who had a choice takes it back
  const Candidate before = candidate;
  for (const Value value : values) {
    go_on(value);
    candidate = before;
  }
}

}  // namespace

std::vector<Region> regions_of(const LegalValues& legal) {
  CHECK_THAT(outer_count() <= kMostDimensions);
  std::vector<Region> regions;
  Candidate candidate{0, legal.problem().given};
  Family family;
  walk(legal, candidate, family, 0, region_depth(), [&](const Family& values) {
    regions.push_back({values, 0, 0});
  });
  return regions;
}

FamilyMaker::FamilyMaker(const LegalValues& legal) : legal_(legal), run_(run_without_plan(legal.problem())) {
  run_.stack.rules.clear();  // the filter holds plans against them, and counts those that it leaves out
}

std::uint64_t FamilyMaker::make(const Region& region, std::vector<Family>& out) {
  candidate_ = {0, legal_.problem().given};
  for (std::size_t i = 0; i < region_depth(); ++i)
    dimensions()[i].put(legal_.problem(), candidate_, region.values.value(i));
  Family family = region.values;
  next_ = region.first();
  not_launched_ = 0;
  split_of_.reset();
  walk(legal_, candidate_, family, region_depth(), outer_count(), [&](Family& f) { add_family(f, out); });
  return not_launched_;
}

void FamilyMaker::add_family(Family& family, std::vector<Family>& out) {
  run_.plan = candidate_.plan;
  run_.gpus = candidate_.gpus;
  run_.assumed.clear();
  if (!check_run(run_)) return;
  if (const Pipeline pipeline = pipeline_of(candidate_.plan); split_of_ != pipeline) {
    legal_.fill(dimensions()[split_place()], candidate_, split_values_);
    look_at_splits(pipeline);
    split_of_ = pipeline;
  }
  const auto [count, all] = count_plans();
  not_launched_ += all - count;
  if (count == 0) return;
  family.first = next_;
  family.plans = count;
  family.most_layers = static_cast<std::int32_t>(most_layers_);
  family.fewest_layers = static_cast<std::int32_t>(fewest_layers_);
  next_ += count;
  out.push_back(family);
}

// The most layers that a chunk has, by any of the splits; and the fewest of the stage that floors ask for. Where a split is
// by chunk, that stage counts as if all its chunks were as small as the smallest.
void FamilyMaker::look_at_splits(const Pipeline& pipeline) {
  const Problem& problem = legal_.problem();
  const std::int64_t chunks = pipeline.model_chunks();
  const std::int64_t of_stage = chunks / pipeline.stages;  // chunks that a stage's layers are dealt over
  const std::int64_t stage = told_by(pipeline.stages);
  most_layers_ = 0;
  fewest_layers_ = std::numeric_limits<std::int64_t>::max();
  for (const Value value : split_values_) {
    const std::vector<std::int64_t> layers =
        value == 0 ? split_layers(problem.model, problem.stack.pipeline.split, chunks)
                   : layers_of_split(problem, candidate_.plan.pp, value);
    const bool by_chunk = static_cast<std::int64_t>(layers.size()) == chunks;
    const std::int64_t parts = by_chunk ? 1 : of_stage;
    for (const std::int64_t n : layers) most_layers_ = std::max(most_layers_, (n + parts - 1) / parts);
    std::int64_t here = layers[static_cast<std::size_t>(stage)];
    for (std::int64_t c = 1; by_chunk && c < of_stage; ++c)
      here = std::min(here, layers[static_cast<std::size_t>(pipeline.piece(stage, c))]);
    fewest_layers_ = std::min(fewest_layers_, here * (by_chunk ? of_stage : 1));
  }
}

std::pair<std::uint64_t, std::uint64_t> FamilyMaker::count_plans() {
  const LaunchFilter& launches = legal_.launches();
  const Traits traits = launches.traits(legal_.problem(), candidate_);
  std::uint64_t count = launches.family(traits) ? 1 : 0, all = 1, flags = 1;
  for (std::size_t i = outer_count(); i < dimensions().size(); ++i) {
    const Dimension& d = dimensions()[i];
    const bool split = i == split_place();
    if (!split) legal_.fill(d, candidate_, values_);
    const std::uint64_t legal = split ? split_values_.size() : values_.size();
    all *= legal;
    if (i > split_place()) {
      flags *= legal;
    } else if (!launches.binds(d)) {
      count *= legal;
    } else {
      if (split) values_ = split_values_;
      launches.keep(legal_.problem(), candidate_, traits, d, values_);
      count *= values_.size();
    }
  }
  if (count == 0) return {0, all};
  return {count * (launches.binds_flags() ? legal_.flags(candidate_, traits).size() : flags), all};
}

}  // namespace foretrain
