// The orders of schedules by shape, written when somebody asks for them, and tables of what their ranks hold. Many
// plans run in few orders: a table is made when a rank is weighed first, so that equal plans weigh the same to the last bit
// whoever asks, and kept while there is room.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "timeline/held_table.h"
#include "timeline/schedule.h"

namespace foretrain {

class OrderBook {
 public:
  // What follows is of these orders.
  void open(ScheduleKind schedule, const PipelineShape& shape);

  const Orders& orders();
  const HeldTable& held(std::int64_t rank);

 private:
  struct Key {
    ScheduleKind schedule = ScheduleKind::k1f1b;
    PipelineShape shape{0, 0, 0};
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept;
  };

  Orders orders_;
  Key written_;  // whose orders these are
  std::unordered_map<Key, std::vector<std::unique_ptr<HeldTable>>, KeyHash> pages_;
  std::pair<const Key, std::vector<std::unique_ptr<HeldTable>>>* open_ = nullptr;
  std::size_t words_ = 0;  // that tables take
};

}  // namespace foretrain
