#include "timeline/order_book.h"

namespace foretrain {
namespace {

// Of four bytes each. A search comes back to some hundred shapes, whose tables have some hundred words a rank.
constexpr std::size_t kMostWords = 1 << 20;

}  // namespace

std::size_t OrderBook::KeyHash::operator()(const Key& key) const noexcept {
  std::uint64_t h = static_cast<std::uint64_t>(key.schedule);
  for (const std::int64_t value : {key.shape.ranks, key.shape.chunks, key.shape.micro_batches})
    h = (h ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15ull;
  return h ^ h >> 29;
}

void OrderBook::open(ScheduleKind schedule, const PipelineShape& shape) {
  const Key key{schedule, shape};
  if (open_ != nullptr && open_->first == key) return;
  open_ = nullptr;
  if (words_ > kMostWords) pages_.clear(), words_ = 0;
  const auto [page, is_new] = pages_.try_emplace(key, static_cast<std::size_t>(shape.ranks));
  if (is_new) words_ += 4 * page->second.size();
  open_ = &*page;
}

const Orders& OrderBook::orders() {
  const Key& key = open_->first;
  if (!(written_ == key)) {
    written_ = {};  // until they are complete, should memory run out
    write_orders(key.schedule, key.shape, orders_);
    written_ = key;
  }
  return orders_;
}

const HeldTable& OrderBook::held(std::int64_t r) {
  std::unique_ptr<HeldTable>& table = open_->second[static_cast<std::size_t>(r)];
  if (!table) {
    table = std::make_unique<HeldTable>(orders(), r, open_->first.shape.chunks);
    words_ += table->words();
  }
  return *table;
}

}  // namespace foretrain
