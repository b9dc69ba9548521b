// What of a run's measurement may explain its speed, each with what it costs and what to look at.
#pragma once

#include "validate/diagnosis.h"

namespace foretrain {

// Of a diagnosis whose verdict, figures and `beside` are there; the costliest first.
std::vector<Finding> findings_of(const Diagnosis& diagnosis, const Run& run, const Prediction& prediction,
                                 const NotModelled& not_modelled);

}  // namespace foretrain
