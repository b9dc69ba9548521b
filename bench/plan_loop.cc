// foretrain_plan_loop PLANS: what bench/python_overhead compares Python with. PLANS has a plan a line; they are
// scored one after another in a loop, as a search's threads do it. Prints the seconds of processor time that takes, the best
// of several rounds.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "cost/profile_store.h"
#include "job/parse_run.h"
#include "job/run_check.h"
#include "predict/evaluator.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

constexpr int kRounds = 7;

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Work>
double best_of_rounds(const Work& work) {
  double best = 1e9;
  for (int i = 0; i < kRounds; ++i) {
    const double start = processor_seconds();
    work();
    best = std::min(best, processor_seconds() - start);
  }
  return best;
}

std::vector<Plan> read_plans(const char* path, Run run) {
  std::vector<Plan> plans;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    run.plan = parse_plan(line).value();
    CHECK_THAT(check_run(run).has_value());
    plans.push_back(run.plan);
  }
  return plans;
}

void measure(const char* path) {
  RunOptions options;
  options.model = "llama-3-8b";
  options.cluster = "dgx-h100";
  options.stack = "megatron";
  options.gpus = 64;
  options.global_batch = 512;
  const Run run = parse_run(nullptr, options, Catalog()).value();
  const std::vector<Plan> plans = read_plans(path, run);
  Evaluator evaluator(run.model, run.cluster, run.stack, run.seq,
                      ProfileStore().costs_for(run.cluster, "").value().costs);
  double sum = 0;
  const double loop = best_of_rounds([&] {
    for (const Plan& plan : plans) sum += evaluator.score(plan, run.global_batch).step.value;
  });
  CHECK_THAT(sum > 0);
  fmt::print("{}\n", loop);
}

}  // namespace
}  // namespace foretrain

int main(int argc, char** argv) {
  if (argc != 2) return fmt::print(stderr, "usage: foretrain_plan_loop PLANS\n"), 2;
  foretrain::measure(argv[1]);
}
