#include "report/chart.h"

#include <doctest/doctest.h>

#include "base/text.h"
#include "predict/testing.h"
#include "report/path_report.h"
#include "report/text_parts.h"

namespace foretrain {
namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("1f1b of three stages and four micro-batches is drawn as its papers draw it") {
  // The step is 24 s; of 57 columns nine are labels, so that a column is half a second. The first gradient
  // reaches stage 1 after three forwards and two backwards, 9 s.
  const StepView view(equal_stages(3, 4));
  CHECK(chart_text(view, {.width = 57}) ==
        "\nthe step in time, a column is 500 ms\n"
        "         0 s                 10 s                20 s\n"
        "         |                   |                   |\n"
        "stage 1  001122............aaaaaa33bbbbbb..cccccc..dddddd\n"
        "stage 2  ..0011......aaaaaa22bbbbbb33cccccc..dddddd......\n"
        "stage 3  ....00aaaaaa11bbbbbb22cccccc33dddddd............\n"
        "0-9 forward of a micro-batch (its last digit), a-j backward (a is 0), . waiting\n");
}

TEST_CASE("on a UTF-8 terminal backwards are shaded") {
  const StepView view(equal_stages(3, 4));
  const std::string text = chart_text(view, {.width = 57, .unicode = true});
  CHECK(has(text, "stage 3  ····00▓▓▓▓▓▓11▓▓▓▓▓▓22"));
  CHECK(has(text, "▓ backward"));
}

TEST_CASE("passes that are too short for a column are shown again at the beginning and the end") {
  const StepView view(equal_stages(3, 400));  // 1608 s in 100 columns
  const std::string text = chart_text(view, {});
  CHECK(has(text, "the passes' beginning and end, a column is 500 ms\n"));
  CHECK(has(text, "stage 1  001122............aaaaaa33bbbbbb44cccccc55dd ~ "));
  CHECK(has(text, "jjjjjj............\n"));  // the last stage, whose last backward is of micro-batch 399
  for (const std::string_view line : split(text, '\n')) CHECK(line.size() <= 100);
}

TEST_CASE("short passes before a long reduction are shown again alone") {
  // One stage, two micro-batches: 8 s of passes, 92 s of a reduction; a column is 1.1 s of the whole.
  StepTrace trace = equal_stages(1, 2);
  trace.events.push_back({0, EventKind::kReduce, 0, Seconds(8), Seconds(100)});
  trace.step = Seconds(100);
  const std::string text = chart_text(StepView(std::move(trace)), {});
  CHECK(has(text, "the passes alone, a column is 500 ms\n"));
  CHECK(has(text, "stage 1  00aaaaaa11bbbbbb\n"));
}

TEST_CASE("charts on one scale compare, and many stages are cut in the middle") {
  const StepView view(equal_stages(3, 4));
  // Twice the step's length: the right half is empty.
  CHECK(has(chart_text(view, {.width = 57}, Seconds(48)), "stage 3  ..0aaa1bbb2ccc3ddd......\n"));
  const StepView tall(equal_stages(100, 2));
  const std::string text = chart_text(tall, {});
  CHECK(has(text, "... 36 more stages ...\n"));
  CHECK(has(text, "\nstage 32 "));
  CHECK_FALSE(has(text, "\nstage 33 "));
  CHECK(has(text, "\nstage 100"));
}

TEST_CASE("the critical path is told by cause and by name, with what each stage waits for") {
  const StepView view(equal_stages(3, 4));
  Prediction p;
  p.stages.resize(3);
  for (std::size_t r = 0; r < 3; ++r) {
    p.stages[r].busy = Seconds(16);
    p.stages[r].idle = Seconds(8 - 3.0 * static_cast<double>(r));
    p.stages[r].in_flight = 3 - static_cast<std::int64_t>(r);
    p.stages[r].memory.total = gib(10);
  }
  // Two forwards and two backwards more than the four of a stage: 6 x 1 s and 6 x 3 s, a third recomputed.
  CHECK(path_text(view, p) ==
        "\ncritical path (what the step waits for, from its beginning to its end)\n"
        "                  s     %\n"
        "  backward   12.000  50.0  ####################\n"
        "  forward     6.000  25.0  ##########\n"
        "  recompute   6.000  25.0  ##########\n"
        "  F0 on 1, F0 on 2, F0 on 3, B0, F1, B1, F2, B2, F3, B3, B3 on 2, B3 on 1\n"
        "bubble 33.3 %: how much of the time stages wait while the pipeline runs\n"
        "\nwhat each stage does (s; up to the gather these sum to the step)\n"
        "  stage  passes  wait act.  wait grad.  wait stages  on the path  in flight  peak GiB\n"
        "  1      16.000      0.000       8.000        0.000        4.000          3     10.00\n"
        "  2      16.000      1.000       4.000        3.000        4.000          2     10.00\n"
        "  3      16.000      2.000       0.000        6.000       16.000          1     10.00\n");
  CHECK(path_names(view, 2) ==
        std::vector<std::string>{"F0 on 1", "F0 on 2", "... 8 more ...", "B3 on 2", "B3 on 1"});
}

TEST_CASE("long lists are wrapped between their parts") {
  CHECK(wrapped({"aaaa", "bbbb", "cccc"}, "  ", 12) == "  aaaa,\n  bbbb, cccc\n");
  CHECK(wrapped({"aaaa", "bbbb"}, "", 100) == "aaaa, bbbb\n");
}

}  // namespace foretrain
