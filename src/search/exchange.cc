#include "search/exchange.h"

#include <cstring>
#include <string>
#include <type_traits>

#include "base/check.h"

namespace foretrain {
namespace {

static_assert(std::is_trivially_copyable_v<ScoredPlan> && std::is_trivially_copyable_v<SearchCounts> &&
              std::is_trivially_copyable_v<Item>);

class Writer {
 public:
  void put(const Found& found) {
    put_one(found.counts);
    put_one(found.stopped);
    put_all(found.kept);
    put_all(found.evaluated);
    put_all(found.items);
  }
  const std::string& text() const { return text_; }

 private:
  template <class T>
  void put_one(const T& value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void put_all(const std::vector<T>& values) {
    put_one(static_cast<std::uint64_t>(values.size()));
    if (!values.empty())
      text_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }

  std::string text_;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : left_(text) {}
  void get(Found& found) {
    get_one(found.counts);
    get_one(found.stopped);
    get_all(found.kept);
    get_all(found.evaluated);
    get_all(found.items);
  }

 private:
  void take(void* to, std::size_t size) {
    CHECK_THAT(size <= left_.size());
    if (size > 0) std::memcpy(to, left_.data(), size);
    left_.remove_prefix(size);
  }
  template <class T>
  void get_one(T& value) {
    take(&value, sizeof value);
  }
  template <class T>
  void get_all(std::vector<T>& values) {
    std::uint64_t count = 0;
    get_one(count);
    CHECK_THAT(count <= left_.size() / sizeof(T));
    values.resize(count);
    take(values.data(), count * sizeof(T));
  }

  std::string_view left_;
};

}  // namespace

Share::Share(const Team* team) {
  if (team == nullptr) return;
  rank = static_cast<std::size_t>(team->rank());
  ranks = static_cast<std::size_t>(team->size());
}

void exchange(Team* team, std::vector<Found>& found) {
  if (team == nullptr) return;
  const Share share(team);
  Writer mine;
  for (std::size_t i = share.rank; i < found.size(); i += share.ranks) mine.put(found[i]);
  const std::vector<std::string> all = team->all_gather(mine.text());
  CHECK_THAT(all.size() == share.ranks);
  for (std::size_t r = 0; r < share.ranks; ++r) {
    if (r == share.rank) continue;
    Reader reader(all[r]);
    for (std::size_t i = r; i < found.size(); i += share.ranks) reader.get(found[i]);
  }
}

}  // namespace foretrain
