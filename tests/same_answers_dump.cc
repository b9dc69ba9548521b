// same_answers_dump RUN.yaml...: every number of each run's prediction and score as %a, a line each:
//   12.yaml stage 0 weights 0x1.9p+30
// For tests/same_answers: `predict --json` rounds bytes to whole ones and does not tell where the interval,
// the score and the energy come from. The lines must not change with the types that they are taken from.
#include <cstdio>
#include <string>

#include "base/file.h"
#include "base/yaml.h"
#include "cost/profile_store.h"
#include "job/parse_run.h"
#include "search/nearest.h"
#include "spec/catalog.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

class Lines {
 public:
  explicit Lines(std::string prefix) : prefix_(std::move(prefix)) {}
  Lines under(const std::string& word) const { return Lines(prefix_ + " " + word); }
  void put(std::string_view key, double value) const {
    std::printf("%s %.*s %a\n", prefix_.c_str(), static_cast<int>(key.size()), key.data(), value);
  }
  void put(std::string_view key, Seconds value) const { put(key, value.value); }
  void put(std::string_view key, Bytes value) const { put(key, value.value); }

 private:
  std::string prefix_;
};

void put_score(const Lines& lines, const Score& score) {
  lines.put("step", score.step);
  lines.put("spread", score.spread);
  lines.put("peak", score.peak);
  lines.put("needed", score.needed);
  lines.put("fits", score.fits);
}

void put_states(const Lines& lines, const StateBytes& states) {
  lines.put("weights", states.weights);
  lines.put("gradients", states.gradients);
  lines.put("optimizer", states.optimizer);
  lines.put("buffers", states.buffers);
  lines.put("step_copy", states.step_copy);
  lines.put("gather_copies", states.gather_copies);
  lines.put("gather_block", states.gather_block);
  lines.put("gather_pieces", states.gather_pieces);
}

void put_stage(const Lines& lines, const StagePrediction& stage) {
  lines.put("layers", static_cast<double>(stage.layers));
  lines.put("parameters", static_cast<double>(stage.parameters));
  lines.put("forward", stage.forward);
  lines.put("backward", stage.backward);
  lines.put("busy", stage.busy);
  lines.put("idle", stage.idle);
  lines.put("clock_mhz", stage.clock_mhz.value_or(-1));
  lines.put("in_flight", static_cast<double>(stage.in_flight));
  put_states(lines, stage.states);
  lines.put("activations", stage.activations);
  for (std::size_t k = 0; k < stage.saved.size(); ++k)
    if (stage.saved[k] != Bytes(0)) lines.under("saved").put(kOperatorKindNames[k], stage.saved[k]);
  lines.put("waiting", stage.waiting);
  lines.put("gathered", stage.gathered);
  lines.put("shared_buffers", stage.shared_buffers);
  lines.put("working", stage.working);
  lines.put("peak_in_step", stage.peak_in_step);
  lines.put("allocated", stage.memory.allocated);
  lines.put("reserved", stage.memory.reserved);
  lines.put("total", stage.memory.total);
  lines.put("needed", stage.memory.needed);
}

void put_uncertainty(const Lines& lines, const Uncertainty& uncertain) {
  for (std::size_t k = 0; k < uncertain.operators.size(); ++k)
    if (uncertain.operators[k] != Seconds(0)) lines.put(kOperatorKindNames[k], uncertain.operators[k]);
  lines.put("collectives", uncertain.collectives);
  lines.put("launches", uncertain.launches);
  lines.put("sends", uncertain.sends);
  lines.put("reductions", uncertain.reductions);
  lines.put("routing", uncertain.routing);
  lines.put("derived", uncertain.derived);
  lines.put("analytic", uncertain.analytic);
}

void put_prediction(const Lines& lines, const Prediction& p) {
  put_score(lines.under("prediction"), p.score());
  lines.put("typical", p.typical);
  if (p.jitter) {
    lines.put("fastest", p.jitter->fastest);
    lines.put("median", p.jitter->median);
    lines.put("p90", p.jitter->p90);
  }
  lines.put("tokens_per_s_per_gpu", p.tokens_per_s_per_gpu);
  lines.put("mfu", p.mfu);
  lines.put("params", static_cast<double>(p.params));
  lines.put("fit_probability", p.fit_probability);
  lines.put("usable", p.usable);
  lines.put("reserved", p.peak_reserved);
  lines.put("allocated", p.peak_allocated);
  lines.put("worst_stage", static_cast<double>(p.worst_stage));
  lines.put("busiest_stage", static_cast<double>(p.busiest_stage));
  for (std::size_t c = 0; c < p.breakdown.size(); ++c)
    lines.under("cause").put(kStepCauseNames[c], p.breakdown[c]);
  for (std::size_t k = 0; k < p.operators.size(); ++k)
    if (p.operators[k] != Seconds(0)) lines.under("operator").put(kOperatorKindNames[k], p.operators[k]);
  for (std::size_t o = 0; o < p.origin_shares.size(); ++o)
    lines.under("origin").put(name(static_cast<Origin>(o)), p.origin_shares[o]);
  put_uncertainty(lines.under("uncertain"), p.uncertain);
  for (std::size_t s = 0; s < p.stages.size(); ++s)
    put_stage(lines.under("stage " + std::to_string(s)), p.stages[s]);
  for (const FittingPlan& near : p.would_fit) {
    put_score(lines.under("would fit " + to_text(near.plan)), near.score);
    lines.under("would fit " + to_text(near.plan)).put("fit_probability", near.fit_probability);
  }
}

Result<void> dump(const std::string& file) {
  TRY_ASSIGN(const std::string text, read_file(file, kMaxYamlBytes));
  TRY_ASSIGN(const Node node, parse_yaml(text, file));
  TRY_ASSIGN(const Run run, parse_run(&node, {}, Catalog()));
  TRY_ASSIGN(const auto costs, ProfileStore().costs_for(run.cluster, run.profile));
  const Lines lines(file);
  put_prediction(lines, predict_or_nearest(run, costs.costs));
  Evaluator evaluator(run.model, run.cluster, run.stack, run.seq, costs.costs);
  put_score(lines.under("score"), evaluator.score(run.plan, run.global_batch));
  Weighed weighed = evaluator.weigh(run.plan, run.global_batch);
  lines.put("weighed", weighed.needed());
  lines.put("at_least", weighed.at_least().seconds());
  const TimedStep timed = weighed.timed(true);
  lines.put("timed", timed.seconds());
  lines.put("joules", timed.joules());
  return {};
}

}  // namespace
}  // namespace foretrain

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (const auto done = foretrain::dump(argv[i]); !done) std::printf("%s refused\n", argv[i]);
  return 0;
}
