// The best plans of a search as a list of different ideas: one row for each way to split model and data (tp, pp, dp, ep,
// cp, zero), its best plan, and what its other plans change. These are wider than the families of a space (space.h), and
// made of the plans that a search keeps: the first of each is the best plan of its kind, since nothing better was lost.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "search/answer.h"

namespace foretrain {

inline constexpr std::array<std::string_view, 6> kFamilyKeys = {"tp", "pp", "dp", "ep", "cp", "zero"};

// "tp=2 pp=4 dp=1 ep=1 cp=1 zero=0"
std::string family_text(const Problem& problem, const Candidate& candidate);

// The first `most` families among the plans kept, in the order of the best of each.
std::vector<ListFamily> list_families(const Space& space, const SearchResult& result, std::size_t most,
                                      Evaluator& evaluator);

}  // namespace foretrain
