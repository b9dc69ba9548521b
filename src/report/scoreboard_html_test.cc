#include "report/scoreboard_html.h"

#include <doctest/doctest.h>

#include "report/peers.h"
#include "report/validate_report.h"

using namespace foretrain;

namespace {

std::size_t count(const std::string& in, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = in.find(what); at != std::string::npos; at = in.find(what, at + what.size())) ++n;
  return n;
}

RowScore row(std::string id, std::string source, double measured, double predicted) {
  RowScore out;
  out.id = std::move(id);
  out.source = std::move(source);
  out.gpu = "some-gpu";
  out.stack = "some-stack";
  out.cluster = "some-cluster";
  out.features = {"dense"};
  out.group = out.id;
  out.measured = Seconds(measured);
  out.predicted = {predicted, 0.1, Origin::kAnalytic};
  out.fit_probability = 1;
  return out;
}

}  // namespace

TEST_CASE("the page has a dot a scored row, a line a source, and tells rows set apart from the others") {
  std::vector<RowScore> rows = {row("a", "ours", 1, 1.05), row("b", "theirs", 1, 2),
                                row("c", "theirs", 10, 1)};
  rows[2].broken = true;
  RowScore skipped;
  skipped.source = "theirs";
  skipped.skipped = "unknown vocab";
  rows.push_back(skipped);
  const std::string page = scoreboard_html(rows);
  CHECK(count(page, "<circle class=\"in\" cx") == 1 + 1);  // and the legend's
  CHECK(count(page, "<circle class=\"out\" cx") == 1 + 1);
  CHECK(count(page, "<circle class=\"apart\" cx") == 1 + 1);
  // Of theirs one row counts, 100 % off, and one is apart.
  CHECK(page.find("<tr><td>theirs</td><td class=\"n\">1</td><td class=\"n\">1</td>") != std::string::npos);
  CHECK(page.find("<b>52.5%</b>") != std::string::npos);  // the mean of 5 and 100
  CHECK(page.find("unknown vocab") != std::string::npos);
  CHECK(page.find("Since the baseline") == std::string::npos);
  const Drift drift = drift_of(baseline_of({rows[1]}), baseline_of(rows));
  CHECK(scoreboard_html(rows, &drift).find("Since the baseline") != std::string::npos);
}

TEST_CASE("a page of calibrated rows says so") {
  const RowsStanding standing{"<mine>", "3 runs (a.log)", 12, 3};
  const std::string page = scoreboard_html({row("a", "ours", 1, 1)}, nullptr, &standing);
  CHECK(
      page.find("12 of the rows stand on calibration &lt;mine&gt;, of 3 runs (a.log); 3 of them taught it") !=
      std::string::npos);
}

TEST_CASE("what came from a table is escaped, and nothing is fetched or run") {
  RowScore evil = row("<script>alert(1)</script>", "\"><img src=x onerror=y>", 1, 2);
  evil.gpu = "<b>";
  evil.stack = "a&b";
  evil.cluster = "'\"";
  evil.assumed = {"<i>"};
  RowScore reason;
  reason.source = evil.source;
  reason.skipped = "refused: <u>";
  const std::vector<RowScore> rows = {evil, reason};
  const Drift drift = drift_of(Baseline{}, baseline_of(rows));
  const std::string page = scoreboard_html(rows, &drift);
  const std::string body = page.substr(page.find("</style>"));
  for (const std::string_view tag : {"<script", "<img", "<u>", "<i>", "\">\"", "<td><b>"}) {
    INFO(tag);
    CHECK(body.find(tag) == std::string::npos);
  }
  CHECK(page.find("&lt;script&gt;alert(1)") != std::string::npos);
  CHECK(page.find("a&amp;b") != std::string::npos);
  for (const std::string_view link : {"http:", "https:", "url(", "@import", "<link", "href=\"h"}) {
    INFO(link);
    CHECK(page.find(link) == std::string::npos);
  }
}

TEST_CASE("no rows make a page too") {
  CHECK(scoreboard_html({}).find("</html>") != std::string::npos);
  CHECK(scoreboard_scatter({}).empty());
}

TEST_CASE("a peer's figure stands beside ours on its source, and beside none where its rows are not here") {
  const auto sources = summarise_by({row("a", "vtrain_ground_truth", 1, 1.1)}, GroupBy::kSource);
  bool vtrain = false;
  for (const PeerFigure& peer : peer_figures()) {
    CHECK_FALSE(peer.citation.empty());
    const std::string ours = our_figure(peer, sources);
    CHECK(ours == (peer.source == "vtrain_ground_truth" ? "10.0% of 1 row" : ""));
    CHECK(our_memory_figure(peer, sources).empty());
    vtrain = vtrain || !ours.empty();
  }
  CHECK(vtrain);
}
