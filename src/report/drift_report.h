// What got better and worse since a baseline, by source. Text:
//   against the baseline  rows  MAPE was    now  change  memory was  now  change  in 80 % was    now
//   theirs                  54      4.9%   6.1%    +1.2           -    -       -        90.7%  88.9%
//   mean of sources         23     12.2%  12.3%    +0.1
//   22 other sources are as they were
//   WORSE by more than half a point: theirs (time +1.2)
#pragma once

#include <string>
#include <vector>

#include "validate/baseline.h"

namespace foretrain {

class JsonWriter;

std::string drift_text(const Drift& drift);
void put_drift(JsonWriter& writer, const Drift& drift);
std::string drift_html(const Drift& drift);

// "time +1.2, false alarms +0.6": the figures of a source that moved by more than half a point, up or down.
std::string worse_text(const SourceDrift& drift);
std::string better_text(const SourceDrift& drift);

}  // namespace foretrain
