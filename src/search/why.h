// Why not tp=4,pp=2: what is stated stays, the rest is chosen as well as it can be. Either there is such a
// plan, and it is compared with the best; or a rule, a constraint or a limit rejects all of them, and the
// plans nearest to it are those with one of the stated choices given up.
#pragma once

#include "search/answer.h"

namespace foretrain {

struct AskedPlan {
  Plan plan;                                               // what is not stated left at its default
  std::vector<std::pair<std::string, std::string>> words;  // key and value, as stated
};
// Refuses words that are no plan, or that no search goes through.
Result<AskedPlan> parse_why(const std::string& text, const Problem& problem);

// `space` is the one that the answer's plans are numbers of.
Result<Why> explain_why(const AnswerRequest& request, const SearchAnswer& answer, const Space& space,
                        Evaluators& evaluators, const std::string& text);

}  // namespace foretrain
