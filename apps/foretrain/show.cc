// foretrain show: a preset as its file stands, comments and so the origin of each figure included.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/nearest.h"
#include "base/text.h"
#include "commands.h"
#include "spec/catalog.h"

namespace foretrain {
namespace {

// Read as well as shown, so that what is shown is known to be good. For a model, the exact count too.
Result<std::string> shown(const ShowOptions& options, const Catalog& catalog) {
  const std::string kinds[] = {"model", "gpu", "cluster", "stack"};
  if (std::find(std::begin(kinds), std::end(kinds), options.kind) == std::end(kinds))
    return fail(fmt::format(
        "show: {}{}",
        options.kind.empty() ? "what to show is not given" : "unknown word " + quoted(options.kind),
        suggestion(options.kind, kinds)));
  if (options.name.empty())
    return fail(fmt::format("show {0}: no name given; 'foretrain list {0}s' tells them", options.kind));

  std::string footer;
  if (options.kind == "model") {
    TRY_ASSIGN(const Model model, catalog.model(options.name));
    footer = fmt::format("# {} parameters by foretrain's count\n", with_commas(parameters(model)));
  } else if (options.kind == "gpu") {
    TRY(catalog.gpu(options.name));
  } else if (options.kind == "cluster") {
    TRY(catalog.cluster(options.name));
  } else {
    TRY(catalog.stack(options.name));
  }
  TRY_ASSIGN(std::string text, catalog.text(options.kind + "s", options.name));
  if (!text.ends_with('\n')) text += '\n';
  return text + footer;
}

}  // namespace

int run_show(const ShowOptions& options, const std::string& presets_folder) {
  const auto text = shown(options, Catalog(presets_folder));
  return text ? answer(*text) : refuse(text.error());
}

}  // namespace foretrain
