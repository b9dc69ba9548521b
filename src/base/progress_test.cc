#include "base/progress.h"

#include <doctest/doctest.h>

using namespace foretrain;

TEST_CASE("half done after four seconds: as long again to go") {
  CHECK(progress_line("fitting", "samples", 1200, 2400, Seconds(4)) ==
        "fitting  [############............]   50 %  1,200 of 2,400 samples, 300/s, 4 s left");
}

TEST_CASE("at the start nothing is known of the rate, and no work is not a division by zero") {
  CHECK(progress_line("fitting", "samples", 0, 10, Seconds(1)) ==
        "fitting  [........................]    0 %  0 of 10 samples");
  CHECK(progress_line("fitting", "samples", 0, 0, Seconds(0)) ==
        "fitting  [........................]    0 %  0 of 0 samples");
}

TEST_CASE("nothing is said of the rate within the first second, in which work has hardly begun") {
  const auto line = [](double seconds) {
    return progress_line("searching", "plans", 10, 100, Seconds(seconds));
  };
  CHECK(line(0.99) == "searching  [##......................]   10 %  10 of 100 plans");
  CHECK(line(1) == "searching  [##......................]   10 %  10 of 100 plans, 10/s, 9 s left");
}

TEST_CASE("more than all is all") {
  CHECK(progress_line("fitting", "samples", 12, 10, Seconds(1)).find("100 %") != std::string::npos);
}

TEST_CASE("what the work has come to stands before the counts, and a narrow line loses its bar first") {
  const auto line = [](std::size_t width) {
    return progress_line("searching", "plans", 50, 100, Seconds(0), "best 2 s", width);
  };
  const std::string all = "searching  [############............]   50 %  best 2 s; 50 of 100 plans";
  CHECK(line(std::string::npos) == all);
  CHECK(line(all.size()) == all);
  CHECK(line(all.size() - 4) == "searching  [##########..........]   50 %  best 2 s; 50 of 100 plans");
  CHECK(line(40) == "searching  [#####.....]   50 %  best 2 s");
}

TEST_CASE("in the first second nobody knows how long it takes") {
  CHECK(progress_text("plans", 50, 100, Seconds(0.9)) == " 50 %  50 of 100 plans");
  CHECK(progress_text("plans", 50, 100, Seconds(2)) == " 50 %  50 of 100 plans, 25/s, 2 s left");
}

TEST_CASE("40 places hold how far it is and how long it takes, whatever else there is to tell") {
  const std::string line = progress_line("searching", "plans", 123'456, 4'000'000, Seconds(3),
                                         "search 2 of 3: best 6.48 s, another at most 4.2 % better", 40);
  CHECK(line == "searching  [.......]    3 %  94.2 s left");
  CHECK(line.size() <= 40);
}

TEST_CASE("a stream that is no terminal stays empty for ten seconds") {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  {
    ProgressBar bar("fitting", "samples", file);
    bar.update(1, 2);
    bar.update(2, 2);
  }
  CHECK(std::ftell(file) == 0);
  std::fclose(file);
}
