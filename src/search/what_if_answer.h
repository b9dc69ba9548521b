// What the best would be with one thing changed, beside an answer that is there. Another price needs no search: no plan
// changes its place. With anything else the plans that were found are timed first, and none is looked at that is longer.
#pragma once

#include "search/answer.h"

namespace foretrain {

// `space` is the one that the answer's plans are numbers of; `evaluators` serve its problem.
Result<WhatIfAnswer> answer_what_if(const AnswerRequest& request, const SearchAnswer& answer,
                                    const Space& space, Evaluators& evaluators, const std::string& text);

}  // namespace foretrain
