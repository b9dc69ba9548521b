// What other predictors of training steps state of themselves, to stand beside our own figures. Only a figure on the
// same rows compares: where a peer was judged on a source that our tables may hold, it is named.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "validate/summary.h"

namespace foretrain {

class JsonWriter;

struct PeerFigure {
  std::string_view peer;
  std::string_view rows;    // what it was judged on
  std::string_view time;    // its mean absolute error
  std::string_view memory;  // likewise; empty: it has no figure
  std::string_view by;      // who found it
  std::string_view citation;
  std::string_view source;  // of ours with (some of) the same rows; empty: none is public
};
std::span<const PeerFigure> peer_figures();

// "7.7% of 393 rows" on the source that a figure names; empty where the tables hold none of it.
std::string our_figure(const PeerFigure& peer, const std::map<std::string, Summary>& sources);
std::string our_memory_figure(const PeerFigure& peer, const std::map<std::string, Summary>& sources);

// Those that our tables have rows for: [{peer, judged_on, time, memory, by, citation, source, mape, count, ...}].
void put_peers(JsonWriter& writer, const std::map<std::string, Summary>& sources);
std::string peers_html(const std::map<std::string, Summary>& sources);

}  // namespace foretrain
