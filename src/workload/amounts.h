// What an operator reads and writes, in elements, and the statistics of its rows in bytes: from these follows
// what it keeps.
#pragma once

namespace foretrain {

struct Amounts {
  double inputs = 0;
  double outputs = 0;
  double stats = 0;
};

}  // namespace foretrain
