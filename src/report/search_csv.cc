#include <fmt/format.h>

#include "report/search_report.h"
#include "search/list_family.h"

namespace foretrain {

std::string search_csv_header() {
  std::string out = "index";
  for (const Dimension& d : dimensions()) out += fmt::format(",{}", d.name);
  return out + ",step_s,exact,peak_bytes,joules,family,launched_by\n";
}

// A split by its stages; a choice left to the stack is empty.
std::string search_csv_row(const Problem& problem, const ScoredPlan& scored, const Candidate& candidate,
                           std::span<const std::string> launched_by) {
  std::string out = fmt::format("{}", scored.index);
  for (const Dimension& d : dimensions()) {
    out += ',';
    if (is_split(d)) {
      out += fmt::format("{}", fmt::join(candidate.plan.layers_per_stage, "-"));
      continue;
    }
    if (const std::string word = word_of(d, problem, candidate); word != "unset") out += word;
  }
  return out + fmt::format(",{},{:d},{:.0f},{:.0f},{},{}\n", scored.step, scored.exact, scored.peak,
                           scored.joules, family_text(problem, candidate), fmt::join(launched_by, "+"));
}

}  // namespace foretrain
