// What all plans that are looked at together have in common.
#pragma once

#include <cstdint>

#include "job/packing.h"
#include "spec/cluster.h"
#include "spec/model.h"
#include "spec/stack.h"

namespace foretrain {

struct Setting {
  Model model;
  Cluster cluster;
  Stack stack;
  std::int64_t seq = 0;
  Packing packing{};
};

}  // namespace foretrain
