#include "report/peers.h"

#include <fmt/format.h>

#include "base/json.h"
#include "report/figure_text.h"
#include "report/html.h"

namespace foretrain {
namespace {

constexpr std::string_view kAuthors = "its authors", kRun = "the peer, run on these rows",
                           kRelease = "its release, on its own runs";
constexpr std::string_view kPaper = "arXiv 2509.22832";
constexpr std::string_view kCalculon = "Isaev et al., SC '23, doi 10.1145/3581784.3607102";
constexpr std::string_view kVtrain = "Bang et al., arXiv 2312.12391";
constexpr std::string_view kSimumax = "github.com/MooreThreads/SimuMax, release 1.2";

constexpr PeerFigure kPeers[] = {
    {"regressors of operators", "GPT-NeoX runs on Perlmutter (A100)", "4.98 %", "", kAuthors, kPaper,
     "seed_perlmutter"},
    {"regressors of operators", "GPT-NeoX runs on Vista (GH200)", "9.38 %", "", kAuthors, kPaper,
     "seed_vista"},
    {"Calculon", "Korthikanti's table (A100)", "3.65 %", "", kAuthors, kCalculon, "korthikanti_seqsel_a100"},
    {"Calculon", "vTrain's runs (A100): 109 on several nodes, 1,440 on one", "18 to 21 %, 42 %", "", kRun,
     kCalculon, "vtrain_ground_truth"},
    {"vTrain", "its own runs (A100): one node, several", "8.37 %, 14.73 %", "", kAuthors, kVtrain,
     "vtrain_ground_truth"},
    {"SimuMax", "43 runs on B200", "5.62 %", "0.46 %", kRelease, kSimumax, "simumax_b200"},
    {"SimuMax", "30 runs on A100-PCIe", "1.48 %", "1.43 %", kRelease, kSimumax, "simumax_a100_pcie"},
    {"Lumos", "GPT-3 variants replayed from traces, up to 512 H100", "3.3 %", "", kAuthors,
     "Liang et al., arXiv 2504.09307", ""},
    {"Charon", "training on a large cluster", "under 3.74 %", "", kAuthors, "Yang et al., arXiv 2605.17164",
     ""},
};

const GroupSummary* ours(const PeerFigure& peer, const std::map<std::string, Summary>& sources) {
  const auto found = sources.find(std::string(peer.source));
  if (found == sources.end() || found->second.healthy.count == 0) return nullptr;
  return &found->second.healthy;
}

std::string of_rows(double mape, std::size_t count) {
  return count == 0 ? std::string()
                    : fmt::format("{} of {} {}", percent_text(mape), count, count == 1 ? "row" : "rows");
}

}  // namespace

std::span<const PeerFigure> peer_figures() { return kPeers; }

std::string our_figure(const PeerFigure& peer, const std::map<std::string, Summary>& sources) {
  const GroupSummary* found = ours(peer, sources);
  return found == nullptr ? std::string() : of_rows(found->mape, found->count);
}

std::string our_memory_figure(const PeerFigure& peer, const std::map<std::string, Summary>& sources) {
  const GroupSummary* found = ours(peer, sources);
  return found == nullptr ? std::string() : of_rows(found->memory.mape, found->memory.count);
}

void put_peers(JsonWriter& w, const std::map<std::string, Summary>& sources) {
  w.begin_array();
  for (const PeerFigure& peer : kPeers) {
    const GroupSummary* found = ours(peer, sources);
    if (found == nullptr) continue;
    w.begin_object();
    w.key("peer").value(peer.peer);
    w.key("judged_on").value(peer.rows);
    w.key("time").value(peer.time);
    w.key("memory").value(peer.memory);
    w.key("by").value(peer.by);
    w.key("citation").value(peer.citation);
    w.key("source").value(peer.source);
    w.key("count").value(found->count);
    w.key("mape").value(found->mape);
    w.key("memory_count").value(found->memory.count);
    w.key("memory_mape").value(found->memory.mape);
    w.end_object();
  }
  w.end_array();
}

std::string peers_html(const std::map<std::string, Summary>& sources) {
  std::string out =
      "<h2 id=\"peers\">Beside other predictors</h2>\n<p>What they state, and this program on the rows of "
      "the same "
      "source that it was given here, which may be a part of them. Figures on other rows do not compare: how "
      "hard a "
      "source is differs more than predictors do.</p>\n"
      "<div class=\"wide\"><table><tr><th>predictor</th><th>judged on</th><th class=\"n\">its error of "
      "time</th><th class=\"n\">here</th><th class=\"n\">its error of memory</th><th "
      "class=\"n\">here</th><th>found by</th><th>stated in</th></tr>\n";
  for (const PeerFigure& peer : kPeers) {
    const std::string time = our_figure(peer, sources), memory = our_memory_figure(peer, sources);
    out += fmt::format(
        "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td><td>{}</td><td>{}</td></tr>\n",
        html_escaped(peer.peer), html_escaped(peer.rows), html_escaped(peer.time),
        time.empty() ? "no rows" : html_escaped(time), html_escaped(peer.memory), html_escaped(memory),
        html_escaped(peer.by), html_escaped(peer.citation));
  }
  return out + "</table></div>\n";
}

}  // namespace foretrain
