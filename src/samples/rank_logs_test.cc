#include "samples/rank_logs.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace foretrain {
namespace {

TrainingLog rank(int number, double step_ms, double memory_mb, int hidden = 4096, int steps = 20) {
  std::string text =
      fmt::format("--- arguments ---\n  hidden_size .... {}\n  rank ..... {}\n--- end of arguments ---\n",
                  hidden, number);
  for (int step = 1; step <= steps; ++step)
    text += fmt::format(
        " iteration {:8}/     100 | elapsed time per iteration (ms): {:.1f} | global batch size:     8 | "
        "lm loss: {}.{}\n",
        step, step_ms, 9 + number, step);
  text += fmt::format("[Rank {}] memory (MB) | allocated: 1.0 | max allocated: 2.0 | max reserved: {}\n",
                      number, memory_mb);
  return *parse_training_log(text, fmt::format("rank{}.log", number));
}

TEST_CASE(
    "files of several ranks are one log: the longest one's steps, the most memory, how far they are apart") {
  const TrainingLog log =
      joined_ranks({rank(0, 1000, 2048, 4096, 10), rank(1, 1020, 4096), rank(2, 990, 1024)});
  CHECK(log.ranks == 3);
  CHECK(log.steps == 20);
  CHECK(log.file == "rank1.log");
  CHECK(log.memory_gib == doctest::Approx(4.0));
  CHECK(log.fastest == doctest::Approx(0.99));
  CHECK(log.slowest == doctest::Approx(1.02));
  CHECK(log.slowest_file == "rank1.log");
}

TEST_CASE("logs of two runs are not taken for ranks of one") {
  CHECK(is_same_run(rank(0, 1000, 1), rank(1, 1000, 1)));
  CHECK_FALSE(is_same_run(rank(0, 1000, 1), rank(1, 1000, 1, 8192)));
  TrainingLog later = rank(1, 1000, 1);
  later.first_step = 50, later.last_step = 70;
  CHECK_FALSE(is_same_run(rank(0, 1000, 1), later));
}

}  // namespace
}  // namespace foretrain
