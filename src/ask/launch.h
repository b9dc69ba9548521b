// What a framework is launched with to train a run: which stack decides what the plan leaves open, the model's names, the text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/write_launch.h"
#include "report/launch_report.h"
#include "search/answer.h"
#include "spec/catalog.h"
#include "spec/run.h"

namespace foretrain {

// The format of a word; `field` is where it was given, `others` are words that mean something else there.
Result<const LaunchFormat*> launch_format(std::string_view field, const std::string& word,
                                          std::vector<std::string> others = {});

// Of a checked run whose stack is one of the format's.
Result<WholeLaunch> launch_of(const Catalog& catalog, const Run& run, const LaunchFormat& format,
                              std::string_view field);

// The best plan of a search that the framework can be told: where better ones cannot, the launch says why.
Result<WholeLaunch> launch_of_best(const Catalog& catalog, const SearchAnswer& answer,
                                   const LaunchFormat& format);

std::string launch_text(const WholeLaunch& whole, bool json);

}  // namespace foretrain
