// foretrain import: samples that others took, in our formats.
#include <fmt/format.h>

#include <filesystem>

#include "base/file.h"
#include "base/nearest.h"
#include "base/text.h"
#include "commands.h"
#include "samples/nccl_tests.h"
#include "samples/published.h"
#include "samples/published_collectives.h"
#include "spec/choice.h"

namespace foretrain {

namespace {

namespace fs = std::filesystem;

Result<std::string> without_slashes(std::string_view folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  if (folder.empty()) return fail("-o: found no folder, expected where the samples go");
  return std::string(folder);
}

struct Imported {
  std::vector<OutputFile> files;
  std::string text;
};

Result<Imported> published_samples(const ImportOptions& options) {
  if (options.paths.size() != 1)
    return fail(fmt::format("import: found {} paths, expected the folder of one site", options.paths.size()));
  const std::string& folder = options.paths.front();
  TRY_ASSIGN(const PublishedImport operators,
             published_sources(disk(), folder).and_then(import_published_samples));
  TRY_ASSIGN(const PublishedCollectives collectives,
             published_collective_sources(disk(), folder).and_then(import_published_collectives));
  Imported result{{{"operators.csv", to_csv(operators.samples)}},
                  import_text(operators) + import_text(collectives)};
  if (!collectives.samples.empty()) result.files.push_back({"collectives.csv", to_csv(collectives.samples)});
  return result;
}

Result<Imported> nccl_tests(const ImportOptions& options) {
  if (options.paths.empty()) return fail("import: found no logs, expected what nccl-tests printed");
  NcclTestsOptions tests{std::nullopt, options.ranks, options.ranks_per_node};
  if (!options.collective.empty()) {
    const auto kind = parse_choice<CollectiveKind>(options.collective, kCollectiveNames);
    if (!kind) return fail("--collective: " + kind.error().message);
    tests.collective = *kind;
  }
  if (options.ranks != 0 && (options.ranks < 2 || options.ranks > 1'000'000))
    return fail(fmt::format("--ranks: found {}, expected 2 to 10^6", options.ranks));
  if (options.ranks_per_node < 0 ||
      (options.ranks_per_node > 0 && (options.ranks == 0 || options.ranks % options.ranks_per_node != 0)))
    return fail(fmt::format("--ranks-per-node: found {}, expected a divisor of --ranks {}",
                            options.ranks_per_node, options.ranks));
  std::vector<Source> logs;
  for (const std::string& path : options.paths) {
    TRY_ASSIGN(std::string text, disk().read(path, kMaxLogBytes));
    logs.push_back({path, std::move(text)});
  }
  TRY_ASSIGN(const NcclTestsImport result, import_nccl_tests(logs, tests));
  return Imported{{{"collectives.csv", to_csv(result.samples)}}, import_text(result)};
}

Result<std::string> imported(const ImportOptions& options) {
  const std::string known[] = {"nccl-tests", "published-samples"};
  if (options.what.empty()) return fail("import: found nothing" + suggestion("", known));
  const bool is_tests = options.what == known[0];
  if (!is_tests && options.what != known[1])
    return fail("import: unknown format " + foretrain::quoted(options.what) +
                suggestion(options.what, known));
  if (!is_tests && (!options.collective.empty() || options.ranks != 0 || options.ranks_per_node != 0))
    return fail("--collective, --ranks and --ranks-per-node: expected with nccl-tests only");
  TRY_ASSIGN(const std::string out, without_slashes(options.out));
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(out, ignored))) {
    if (!is_folder(out)) return fail("-o: " + foretrain::quoted(out) + " is not a folder");
    if (!options.force)
      return fail("-o: " + foretrain::quoted(out) + " exists; give --force to replace its samples");
  }
  TRY_ASSIGN(Imported result, is_tests ? nccl_tests(options) : published_samples(options));
  TRY(write_folder(out, result.files));
  for (const OutputFile& file : result.files) result.text += fmt::format("written: {}/{}\n", out, file.name);
  return result.text;
}

}  // namespace

int run_import(const ImportOptions& options) {
  const auto text = imported(options);
  return text ? answer(*text) : refuse(text.error());
}

}  // namespace foretrain
