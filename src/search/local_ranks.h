// Ranks of a team as threads that wait for each other, for tests.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "search/team.h"

namespace foretrain {

class LocalRank final : public Team {
 public:
  struct Table {
    explicit Table(int ranks) : given(static_cast<std::size_t>(ranks)) {}
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::string> given, all;
    std::size_t count = 0;
    int turn = 0;
  };
  LocalRank(Table& table, int rank) : table_(table), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(table_.given.size()); }
  std::vector<std::string> all_gather(std::string_view mine) override {
    std::unique_lock lock(table_.mutex);
    const int turn = table_.turn;
    table_.given[static_cast<std::size_t>(rank_)] = mine;
    if (++table_.count == table_.given.size()) {
      table_.all = table_.given;
      table_.count = 0;
      ++table_.turn;
      table_.changed.notify_all();
    }
    table_.changed.wait(lock, [&] { return table_.turn != turn; });
    return table_.all;
  }

 private:
  Table& table_;
  int rank_;
};

inline void on_ranks(int ranks, const std::function<void(int, Team&)>& work) {
  LocalRank::Table table(ranks);
  std::vector<std::jthread> machines;
  for (int r = 0; r < ranks; ++r)
    machines.emplace_back([&, r] {
      LocalRank team(table, r);
      work(r, team);
    });
}

}  // namespace foretrain
