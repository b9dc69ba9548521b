// What a check of tables found, for whoever wrote them; a line a finding as compilers write them, so that editors find
// the place:
//   runs.csv:3:65: error: lab-2: vocab: found nothing, and no run can be predicted without it
//   runs.csv:4:1: lab-3: scored on time and memory; assumed: biases=0; dropout=0
//   3 rows: 2 are scored on time, 1 on memory, 2 on their verdict; 1 cannot be scored
#pragma once

#include <string>

#include "validate/row_check.h"

namespace foretrain {

std::string row_check_text(const TableCheck& check);
std::string row_check_json(const TableCheck& check);

}  // namespace foretrain
