// An order of items in which neighbours have passes in common: those that agree in all that passes follow from stand
// together, whatever their GPUs, stages and schedule. A thread that goes through neighbours lays out fewer passes anew.
#pragma once

#include <cstddef>
#include <vector>

#include "search/item.h"

namespace foretrain {

class PassOrder {
 public:
  PassOrder();
  bool operator()(const Item& a, const Item& b) const;

 private:
  std::vector<std::size_t> dimensions_;  // outer ones that passes follow from
};

}  // namespace foretrain
