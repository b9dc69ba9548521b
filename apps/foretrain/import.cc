// foretrain import: samples published by others, in our format.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/nearest.h"
#include "base/text.h"
#include "commands.h"
#include "samples/published.h"

namespace foretrain {

namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> cannot_write(const std::string& folder, const std::error_code& error) {
  return fail("cannot write: " + error.message(), Position{folder});
}

// A folder that is not there yet appears with its file in it or not at all; in one that is there (--force)
// the file is replaced, what else lies in it stays.
Result<void> write_into_folder(const std::string& folder, const std::string& file, std::string_view content) {
  if (is_folder(folder)) return write_file(folder + "/" + file, content);
  const std::string partial = fmt::format("{}.partial.{}", folder, ::getpid());
  std::error_code error, ignored;
  if (!fs::create_directory(partial, error)) return cannot_write(folder, error);
  auto written = write_file(partial + "/" + file, content);
  if (written) {
    fs::rename(partial, folder, error);
    if (error) written = cannot_write(folder, error);
  }
  if (!written) fs::remove_all(partial, ignored);
  return written;
}

Result<std::string> without_slashes(std::string_view folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  if (folder.empty()) return fail("-o: found no folder, expected where the samples go");
  return std::string(folder);
}

Result<std::string> imported(const ImportOptions& options) {
  const std::string known[] = {"published-samples"};
  if (options.what.empty()) return fail("import: found nothing" + suggestion("", known));
  if (options.what != known[0])
    return fail("import: unknown format " + foretrain::quoted(options.what) +
                suggestion(options.what, known));
  if (options.folder.empty()) return fail("import: found no folder, expected one with samples");
  TRY_ASSIGN(const std::string out, without_slashes(options.out));
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(out, ignored))) {
    if (!is_folder(out)) return fail("-o: " + foretrain::quoted(out) + " is not a folder");
    if (!options.force)
      return fail("-o: " + foretrain::quoted(out) + " exists; give --force to replace its operators.csv");
  }
  TRY_ASSIGN(const PublishedImport result, import_published_samples(options.folder));
  TRY(write_into_folder(out, "operators.csv", to_csv(result.samples)));
  return import_text(result) + fmt::format("written: {}/operators.csv\n", out);
}

}  // namespace

int run_import(const ImportOptions& options) {
  const auto text = imported(options);
  return text ? answer(*text) : refuse(text.error());
}

}  // namespace foretrain
