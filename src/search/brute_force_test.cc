// Bounds against brute force: problems of a few layers on a few GPUs, up to some ten thousand plans each, of all that a
// search goes through: dense layers, experts, divided sequences, products in fewer bits, CUDA graphs, adapters, offloading.
// On any number of threads and ranks, however few families are held at once, the best plans and the front are those of a
// search that times every plan.
#include <doctest/doctest.h>

#include <random>

#include "base/testing.h"
#include "job/fine_tuning.h"
#include "predict/evaluator.h"
#include "search/local_ranks.h"
#include "search/testing.h"

namespace foretrain {
namespace {

struct SmallProblem {
  Problem problem;
  Constraints constraints;
  SearchOptions options;
  std::string text;  // what is uncommon in it
};

class AnyProblem {
 public:
  explicit AnyProblem(std::mt19937& random) : random_(random) {}

  SmallProblem make() {
    s_ = {};
    s_.problem =
        problem_of(pick("gpt2", "llama-2-7b", "pythia-1.4b"), pick("perlmutter", "dgx-h100", "selene"),
                   pick("generic", "megatron", "neox", "nanotron", "llm-foundry"), {}, pick(4, 6, 8));
    s_.problem.seq = 512;
    s_.problem.gpus = {pick(1, 2, 2, 4, 4, 8)};
    if (one_in(3)) s_.problem.gpus.push_back(s_.problem.gpus.back() * 2);
    add_layers();
    add_training();
    if (one_in(2)) set(pick("tp=1,2", "pp=1,2,4", "zero=0,1,3"));
    if (one_in(4)) CHECK(s_.constraints.add_forbid(pick("schedule=gpipe", "recompute=full"), s_.problem));
    add_limits();
    return std::move(s_);
  }

 private:
  template <class... Values>
  std::common_type_t<Values...> pick(Values... values) {
    const std::common_type_t<Values...> all[] = {values...};
    return all[random_() % std::size(all)];
  }
  bool one_in(unsigned n) { return random_() % n == 0; }

  void set(const std::string& text) {
    CAPTURE(text);
    CHECK(s_.constraints.add_set(text, s_.problem));
    s_.text += (s_.text.empty() ? "" : " ") + text;
  }

  void add_layers() {
    auto& blocks = s_.problem.model.blocks;
    blocks.front().count = pick(2, 3, 4);
    if (one_in(4)) {  // layers of a second kind
      Block narrow = blocks.front().block;
      narrow.feed_forward.ffn /= 4;
      blocks.push_back({pick(1, 2), narrow});
    }
    if (one_in(3) && has_all()) {
      FeedForward& f = blocks.back().block.feed_forward;
      f = {.mlp = f.mlp, .experts = 4, .top_k = 2, .expert_ffn = f.ffn / 4, .shared_ffn = pick(0, 512)};
      s_.text += "experts";
    }
  }

  bool has_all() const { return s_.problem.stack.name == "generic" || s_.problem.stack.name == "megatron"; }

  // What changes the training itself is looked at where somebody asks for it.
  void add_training() {
    const std::string& stack = s_.problem.stack.name;
    const bool experts = has_experts(s_.problem.model);
    // Short sequences are divided where somebody asks for it.
    if (one_in(6) && has_all()) {
      CHECK(s_.constraints.add_range("cp=1..4", s_.problem));
      s_.text += " cp";
    }
    if (one_in(4) && stack == "megatron" && s_.problem.cluster.name == "dgx-h100")
      set(pick("precision=bf16,fp8-delayed", "precision=fp8-current", "precision=bf16,fp8-blockwise"));
    if (one_in(6) && stack == "megatron" && !experts)
      set(pick("cuda_graph=none,full", "cuda_graph=none,attn"));
    if (one_in(6) && has_all() && !experts) set(pick("lora=8", "lora=16"));
    if (one_in(8)) set(pick("grad_dtype=bf16,fp32", "optimizer=adamw,adamw_8bit"));
  }

  void add_limits() {
    s_.options = options_for(s_.problem);
    s_.options.objective = static_cast<Objective>(random_() % 4);
    s_.options.keep = pick(1, 50, 1000, 1000);
    s_.options.front = pick(FrontKind::kAll, FrontKind::kAll, FrontKind::kSteps, FrontKind::kNone);
    // Small models fit everywhere: a GPU of which a part is usable.
    s_.options.limits.memory = s_.options.limits.memory * pick(0.05, 0.1, 0.2, 1.0);
    if (!one_in(4)) return;
    s_.options.limits.training_steps = 1000;
    s_.options.limits.deadline_s = pick(20.0, 100.0, 500.0);
  }

  std::mt19937& random_;
  SmallProblem s_;
};

// By one process on some threads, or by some ranks of one thread each.
SearchResult search_as(int which, const Space& space, SearchOptions options) {
  const int ranks = which % 4 == 3 ? 2 + which / 4 % 2 : 1;
  if (ranks == 1) {
    options.threads = 1 + which % 4;
    return search(space, nullptr, options);
  }
  options.threads = 1;
  std::vector<SearchResult> results(static_cast<std::size_t>(ranks));
  on_ranks(ranks, [&](int rank, Team& team) {
    SearchOptions own = options;
    own.team = &team;
    results[static_cast<std::size_t>(rank)] = search(space, nullptr, own);
  });
  for (const SearchResult& result : results) {
    CHECK(result.best == results[0].best);
    CHECK(result.pareto == results[0].pareto);
    CHECK(result.counts == results[0].counts);
  }
  return results[0];
}

TEST_CASE("bounds lose nothing: brute force finds the same plans, on random small problems") {
  std::mt19937 random(8);
  AnyProblem any(random);
  std::uint64_t plans = 0, evaluated = 0, brute_evaluated = 0;
  int empty = 0, uncommon = 0;
  const int problems = trials(75);  // four times as many at night (tests/CMakeLists.txt)
  for (int i = 0; i < problems; ++i) {
    SmallProblem s = any.make();
    const auto space = Space::make(s.problem, s.constraints);
    REQUIRE(space);
    CAPTURE(i);
    CAPTURE(s.text);
    s.options.most_held = i % 3 == 0 ? 1 : i % 3 == 1 ? 40 : 1'000'000;  // in many windows, some, one
    s.options.most_noted = i % 2 == 0 ? 20 : 2'000'000;                  // of the rest floors are found again
    const SearchResult bounded = search_as(i, *space, s.options);
    s.options.bounds = false;
    const SearchResult brute = search(*space, nullptr, s.options);
    CHECK(bounded.best == brute.best);
    CHECK(bounded.pareto == brute.pareto);
    for (const SearchResult* r : {&bounded, &brute})
      CHECK(r->counts.evaluated + r->counts.pruned_memory + r->counts.pruned_bound == space->size());
    CHECK(brute.counts.pruned_bound == 0);
    CHECK(bounded.counts.evaluated <= brute.counts.evaluated);
    plans += space->size();
    evaluated += bounded.counts.evaluated;
    brute_evaluated += brute.counts.evaluated;
    empty += brute.best.empty();
    uncommon += !s.text.empty() && !brute.best.empty();
  }
  MESSAGE(plans, " plans; evaluated ", brute_evaluated, " by brute force, ", evaluated, " with bounds; ",
          empty, " problems have no answer, ", uncommon, " that have one are uncommon");
  if (problems < 75) return;  // of the few that sanitizers try, shares say nothing
  CHECK(2 * empty < problems);
  CHECK(4 * uncommon > problems);
}

}  // namespace
}  // namespace foretrain
