// The same in C++, with a search that is watched. Exceptions of its own and those of the library's wrapper stay apart.
#include <cmath>
#include <cstdio>
#include <foretrain/foretrain.hpp>
#include <stdexcept>

static void throws_its_own() { throw std::out_of_range("mine"); }

int main() {
  foretrain::Session session;
  foretrain::Run run = session.run(
      R"({"model": "llama-3-8b", "cluster": "dgx-h100", "gpus": 64, "global_batch": 512, "plan": {"zero": 1}})");
  foretrain::Plans plans(9);
  std::vector<std::int64_t> tp, pp;
  for (int i = 0; i < 9; ++i) tp.push_back(1 << i % 3), pp.push_back(1 << i / 3);
  const std::vector<foretrain_score> scores = run.score(plans.whole("tp", tp).whole("pp", pp));
  std::size_t best = scores.size();
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (scores[i].verdict == FORETRAIN_FITS &&
        (best == scores.size() || scores[i].step_s < scores[best].step_s))
      best = i;
  std::printf("tp=%d,pp=%d: %.3g s\n", static_cast<int>(tp[best]), static_cast<int>(pp[best]),
              scores[best].step_s);

  const foretrain::Plans wrong = foretrain::Plans(2).whole("tp", {1, 3}).words("precision", {0, 0}, {"bf16"});
  if (run.refusal(wrong, 0) || !run.refusal(wrong, 1) || !std::isnan(run.score(wrong)[1].step_s)) return 1;

  foretrain::Search search = session.search(
      R"({"model": "gpt2", "cluster": "dgx-a100", "gpus": 4, "global_batch": 64, "set": "pp=1"})");
  while (!search.wait(0.05)) search.progress();
  if (search.answer().find("\"best\"") == std::string::npos) return 1;
  try {
    session.answer("predict", R"({"model": "nobody"})");
    return 1;
  } catch (const foretrain::Error& error) {
    std::fprintf(stderr, "%s", error.what());
  }
  try {
    throws_its_own();
    return 1;
  } catch (const std::out_of_range&) {
  }
  return 0;
}
