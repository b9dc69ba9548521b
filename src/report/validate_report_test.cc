#include "report/validate_report.h"

#include <doctest/doctest.h>

#include "base/text.h"

using namespace foretrain;

namespace {

// One row 25 % over its measured second, one exact without a memory figure, a failure caught, one left out.
// No spread, so that low = high = predicted.
std::vector<RowScore> example() {
  std::vector<RowScore> rows(4);
  for (RowScore& row : rows) row.source = "ours";
  rows[0].id = "exact";
  rows[0].measured = Seconds(2);
  rows[0].predicted.value = 2;
  rows[0].fit_probability = 1;
  rows[1].id = "over";
  rows[1].measured = Seconds(1);
  rows[1].predicted.value = 1.25;
  rows[1].fit_probability = 0.75;
  rows[1].needed_share = 0.875;
  rows[1].measured_memory = gib(10);
  rows[1].predicted_memory = gib(8);
  rows[1].params = 1000;
  rows[1].assumed = {"biases=1", "recompute=none"};
  rows[2].id = "failed";
  rows[2].predicted.value = 3;
  rows[2].predicted_memory = gib(100);
  rows[3].id = "expert";
  rows[3].source = "theirs";
  rows[3].skipped = "moe";
  for (RowScore& row : rows) row.group = row.id;
  return rows;
}

}  // namespace

TEST_CASE("text: a line a group, the reasons, the failures, then the worst rows first") {
  CHECK(validate_text(example(), {GroupBy::kSource, true}) ==
        R"(source  rows   MAPE  median    p90    bias  in 80 %  memory rows   MAPE    bias
ours       2  12.5%   12.5%  22.5%  +12.5%    50.0%            1  20.0%  -20.0%
theirs     0      -       -      -       -        -            0      -       -
all        2  12.5%   12.5%  22.5%  +12.5%    50.0%            1  20.0%  -20.0%

left out  rows
moe          1
all          1

out of memory: of 1 failed runs 1 predicted not to fit, 0 perhaps not
false alarms: of 2 measured runs 0 predicted not to fit, 1 perhaps not

said to fit with  rows  failed   share
80 to 100 %          1       0    0.0%
60 to 80 %           1       0    0.0%
40 to 60 %           0       0       -
20 to 40 %           0       0       -
0 to 20 %            1       1  100.0%

row    measured s  predicted s   low  high   error  assumed
over            1         1.25  1.25  1.25  +25.0%  biases=1; recompute=none
exact           2            2     2     2    0.0%
)");
}

TEST_CASE("text: where rows share a group, each group counts once") {
  // Two rows of one configuration, 25 % over each, and one that is exact: (25 + 0) / 2 by group.
  std::vector<RowScore> rows = {example()[1], example()[1], example()[0]};
  rows[1].id = "over again";
  CHECK(
      validate_text(rows, {GroupBy::kSource, false})
          .starts_with(
              R"(source          rows   MAPE  median    p90    bias  in 80 %  memory rows   MAPE    bias  groups   MAPE
ours               3  16.7%   25.0%  25.0%  +16.7%    33.3%            2  20.0%  -20.0%       2  12.5%
all                3  16.7%   25.0%  25.0%  +16.7%    33.3%            2  20.0%  -20.0%       2  12.5%
mean of groups     2  12.5%   12.5%  22.5%  +12.5%    50.0%            1  20.0%  -20.0%
)"));
  CHECK(validate_text(rows, {GroupBy::kGroup, false})
            .starts_with(
                R"(group           rows   MAPE  median    p90    bias  in 80 %  memory rows   MAPE    bias
exact              1   0.0%    0.0%   0.0%    0.0%   100.0%            0      -       -
over               2  25.0%   25.0%  25.0%  +25.0%     0.0%            2  20.0%  -20.0%
all                3  16.7%   25.0%  25.0%  +16.7%    33.3%            2  20.0%  -20.0%
mean of groups     2  12.5%   12.5%  22.5%  +12.5%    50.0%            1  20.0%  -20.0%
)"));
}

TEST_CASE("JSON: summary, groups and the predicted rows in their order") {
  const std::string json = validate_json(example(), {GroupBy::kSource, true});
  CHECK(json.starts_with(R"({
  "version": 1,
  "summary": {
    "count": 2,
    "skipped": 1,
    "skipped_reasons": {
      "moe": 1
    },
    "mape": 0.125,
    "median_ape": 0.125,
    "p90_ape": 0.225,
    "bias": 0.125,
    "coverage80": 0.5,
    "memory": {
      "count": 1,
      "mape": 0.2,
      "bias": -0.2
    },
    "set_apart": 0,
    "by_group": {
      "count": 2,
      "mape": 0.125,
      "median_ape": 0.125,
      "p90_ape": 0.225,
      "bias": 0.125,
      "coverage80": 0.5,
      "memory": {
        "count": 1,
        "mape": 0.2,
        "bias": -0.2
      }
    },
    "healthy": {
      "count": 2,
      "mape": 0.125,
      "median_ape": 0.125,
      "p90_ape": 0.225,
      "bias": 0.125,
      "coverage80": 0.5,
      "memory": {
        "count": 1,
        "mape": 0.2,
        "bias": -0.2
      }
    },
    "by_source": {
      "count": 1,
      "mape": 0.125,
      "median_ape": 0.125,
      "p90_ape": 0.125,
      "bias": 0.125,
      "coverage80": 0.5,
      "memory": {
        "count": 1,
        "mape": 0.2,
        "bias": -0.2
      }
    },
    "fits": {
      "oom_rows": 1,
      "oom_caught": 1,
      "oom_doubted": 1,
      "measured_rows": 2,
      "false_oom": 0,
      "false_doubt": 1,
      "reliability": [
        {
          "count": 1,
          "failed": 1
        },
        {
          "count": 0,
          "failed": 0
        },
        {
          "count": 0,
          "failed": 0
        },
        {
          "count": 1,
          "failed": 0
        },
        {
          "count": 1,
          "failed": 0
        }
      ]
    },
    "ranking": {
      "sweeps": 0,
      "count": 0,
      "within_10": null,
      "regret": null,
      "correlation": null
    }
  },
  "groups": {
    "source": {
      "ours": {)"));
  const std::string rows = json.substr(json.find("\"rows\""));
  CHECK(rows.find(R"({
      "id": "over",
      "source": "ours",
      "group": "over",
      "features": [],
      "set_apart": false,
      "measured_s": 1,
      "predicted_s": 1.25,
      "low_s": 1.25,
      "high_s": 1.25,
      "error": 0.25,
      "measured_gib": 10,
      "predicted_gib": 8,
      "fits": false,
      "verdict": "may_not_fit",
      "fit_probability": 0.75,
      "needed_share": 0.875,
      "params": 1000,
      "assumed": [
        "biases=1",
        "recompute=none"
      ]
    })") != std::string::npos);
  CHECK(rows.find(R"("id": "failed",
      "source": "ours",
      "group": "failed",
      "features": [],
      "set_apart": false,
      "measured_s": null)") != std::string::npos);
  CHECK(rows.find("\"exact\"") < rows.find("\"over\""));
  CHECK(rows.find("expert") == std::string::npos);
}

TEST_CASE("rows that were measured in parts are shown in parts") {
  std::vector<RowScore> rows = example();
  CHECK(validate_text(rows, {GroupBy::kSource, true}).find("in parts") == std::string::npos);
  CHECK(validate_json(rows, {GroupBy::kSource, true}).find("\"parts\"") == std::string::npos);
  rows[1].parts = {PartScore{Seconds(0.25), Seconds(0.3125)}, PartScore{Seconds(0.5), Seconds(0.4)}, {}};
  const std::string text = validate_text(rows, {GroupBy::kSource, true});
  CHECK(text.substr(text.find("row in parts")) ==
        R"(row in parts         forward s   error  backward s   error  optimizer s  error  memory
over                      0.25  +25.0%         0.5  -20.0%            -      -  -20.0%
mean absolute error              25.0%               20.0%                   -   20.0%
)");
  const std::string json = validate_json(rows, {GroupBy::kSource, true});
  CHECK(json.find(R"("parts": {
      "fwd": {
        "count": 1,)") != std::string::npos);
  CHECK(json.find(R"("measured_fwd_s": 0.25,
      "fwd_s": 0.3125,
      "fwd_error": 0.25)") != std::string::npos);
  CHECK(json.find("opt_s") == std::string::npos);
}

TEST_CASE("rows only where they are asked for; the group's name is the key") {
  const std::string json = validate_json(example(), {GroupBy::kGpu, false});
  CHECK(json.find("\"rows\"") == std::string::npos);
  CHECK(json.find("\"gpu\": {") != std::string::npos);
  CHECK(json.find("\"source\"") == std::string::npos);
}

TEST_CASE("bytes of a file do not reach the terminal as they are") {
  std::vector<RowScore> rows = example();
  rows[0].source = "a\x1b[31mb";
  CHECK(validate_text(rows, {}).find('\x1b') == std::string::npos);
}

TEST_CASE("text: sweeps have a line, and a baseline tells what moved, loudly what is worse") {
  std::vector<RowScore> rows;
  for (const double t : {1.0, 2.0, 3.0, 4.0, 5.0}) {
    RowScore row;
    row.source = "ours";
    row.sweep = "one";
    row.measured = Seconds(t);
    row.predicted.value = t;
    row.fit_probability = 1;
    rows.push_back(row);
  }
  const Baseline before = baseline_of(rows);
  rows[0].predicted.value = 1.2;
  const Drift drift = drift_of(before, baseline_of(rows));
  const std::string text = validate_text(rows, {.drift = &drift});
  CHECK(text.find(
            "ranking: 1 sweep of 5 plans; the plan predicted fastest is within 10 % of the fastest in 1 of "
            "them, 0.0% slower in the mean; rank correlation 1.00 in the median\n") != std::string::npos);
  CHECK(text.find("WORSE by more than half a point: ours (time +4.0)\n") != std::string::npos);
  const std::string json = validate_json(rows, {.drift = &drift});
  CHECK(json.find(R"("worse": [
      "ours"
    ])") != std::string::npos);
  const Drift back = drift_of(baseline_of(rows), before);
  CHECK(validate_text(rows, {.drift = &back})
            .find("better by more than half a point: ours (time -4.0)\nno source is "
                  "worse by more than half a point\n") != std::string::npos);
}

TEST_CASE("csv: a line a source, GPU, stack, cluster and feature, and of all; as many cells as the head") {
  std::vector<RowScore> rows = example();
  for (RowScore& row : rows) row.features = {"dense", "fine-tuning"};
  const std::string csv = validate_csv(rows);
  const auto lines = split(trim(csv), '\n');
  CHECK(lines.size() == 1 + 2 + 1 + 1 + 1 + 2 + 1);
  for (const std::string_view line : lines)
    CHECK(split(line, ',').size() == split(lines.front(), ',').size());
  CHECK(csv.find("\nfeature,fine-tuning,2,1,0,0.125,") != std::string::npos);
  CHECK(csv.find("\nsource,theirs,0,1,0,,,,,,0,,,") != std::string::npos);
}
