#include "terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/did_you_mean.h"
#include "base/text.h"
#include "fold.h"

namespace foretrain {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

bool speaks_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view locale = variable(name);
    if (locale.empty()) continue;  // the first that says something decides
    return locale.ends_with("UTF-8") || locale.ends_with("utf8") || locale.ends_with("utf-8");
  }
  return false;
}

constexpr std::string_view kBold = "\x1b[1m", kRed = "\x1b[31m", kYellow = "\x1b[33m", kGreen = "\x1b[32m",
                           kPlain = "\x1b[0m";

// What a reader looks for first: verdicts, and the words that a line begins with where the rest is told beside them.
struct Mark {
  std::string_view words, colour;
};
constexpr Mark kMarks[] = {{"does not fit", kRed}, {"may not fit", kYellow}, {"slower than expected", kRed},
                           {"cannot run", kRed},   {" error:", kRed},        {" warning:", kYellow},
                           {": fits", kGreen}};

// `label`: how much of the line is its head, or the word that the rest is about.
std::string painted(std::string line, std::size_t label) {
  for (const Mark& mark : kMarks) {
    const std::size_t at = line.find(mark.words);
    if (at == std::string::npos) continue;
    line.insert(at + mark.words.size(), kPlain).insert(at, mark.colour);
    break;
  }
  if (label == 0 || line.find('\x1b') < label) return line;
  return std::string(kBold) + line.substr(0, label) + std::string(kPlain) + line.substr(label);
}

// Where the cells of a line begin: behind gaps of two spaces and more.
std::vector<std::size_t> cells_of(std::string_view line) {
  std::vector<std::size_t> cells;
  for (std::size_t at = line.find_first_not_of(' '); at != std::string_view::npos;) {
    cells.push_back(at);
    const std::size_t gap = line.find("  ", at);
    at = gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
  }
  return cells;
}

constexpr std::size_t kLeastColumn = 16;  // a text that has less room beside others goes below them

// What stands in a table's last column and is longer than a figure is told whole, the other cells are cut.
std::string row_fitted(std::string_view line, const std::vector<std::size_t>& cells,
                       const Terminal& terminal) {
  const std::size_t last = places(line.substr(0, cells.back()));
  const std::string_view text = line.substr(cells.back());
  const std::string_view mark = terminal.unicode ? "…" : ">";
  const auto cut = [&](std::string_view part) {
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (places(part) <= terminal.width) return std::string(part);
    return std::string(first_places(part, terminal.width - 1)) + std::string(mark);
  };
  const bool is_bar = text.find_first_not_of("#=.") == std::string_view::npos;
  if (places(text) < kLeastColumn || is_bar) return cut(line);
  const std::size_t below =
      std::min<std::size_t>(places(line.substr(0, cells.front())) + 4, terminal.width / 4);
  if (last + kLeastColumn <= terminal.width)
    return std::string(line.substr(0, cells.back())) + folded(text, last, last, terminal.width);
  return cut(line.substr(0, cells.back())) + '\n' + std::string(below, ' ') +
         folded(text, below, below, terminal.width);
}

std::string line_fitted(std::string_view line, const Terminal& terminal) {
  if (places(line) <= terminal.width) return std::string(line);
  const std::vector<std::size_t> cells = cells_of(line);
  if (cells.size() > 2) return row_fitted(line, cells, terminal);
  const std::size_t indent = places(line.substr(0, cells.front()));
  if (cells.size() == 2) {  // a word, and what there is to say about it
    const std::size_t column = places(line.substr(0, cells[1]));
    if (column + kLeastColumn <= terminal.width)
      return std::string(line.substr(0, cells[1])) +
             folded(line.substr(cells[1]), column, column, terminal.width);
    const std::size_t below = std::min(indent + 4, terminal.width / 4);
    std::string_view name = line.substr(0, cells[1]);
    name = name.substr(0, name.find_last_not_of(' ') + 1);
    return std::string(line.substr(0, cells.front())) +
           folded(name.substr(cells.front()), indent, below, terminal.width) + '\n' +
           std::string(below, ' ') + folded(line.substr(cells[1]), below, below, terminal.width);
  }
  const std::size_t hanging = std::min(indent + 2, terminal.width / 4);
  return std::string(line.substr(0, cells.front())) +
         folded(line.substr(cells.front()), indent, hanging, terminal.width);
}

}  // namespace

std::size_t columns_of_stdout() {
  constexpr std::int64_t kLeast = 20, kMost = 10'000;
  const auto asked = parse_integer(variable("COLUMNS"));
  if (asked && *asked >= kLeast && *asked <= kMost) return static_cast<std::size_t>(*asked);
  winsize size{};
  if (::isatty(STDOUT_FILENO) == 1 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= kLeast)
    return size.ws_col;
  return std::string::npos;
}

Result<Terminal> terminal_of(std::string_view colour) {
  const std::vector<std::string> known = {"auto", "always", "never"};
  if (!colour.empty() && std::find(known.begin(), known.end(), colour) == known.end())
    return fail_field("color", "unknown word " + quoted(colour) + suggestion(colour, known));
  Terminal terminal;
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  if (is_terminal) {
    terminal.width = columns_of_stdout();
    terminal.unicode = speaks_utf8();
  }
  const bool wants = is_terminal && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
  terminal.colour = colour == "always" || (wants && colour != "never");
  return terminal;
}

std::size_t help_width(const Terminal& terminal) {
  constexpr std::size_t kMost = 100;
  return std::min(terminal.width, kMost);
}

std::string fitted(std::string_view text, const Terminal& terminal) {
  if (!terminal.fits_lines() && !terminal.colour) return std::string(text);
  std::string out;
  const std::vector<std::string_view> lines = split(text, '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    std::string shown = terminal.fits_lines() ? line_fitted(line, terminal) : std::string(line);
    if (terminal.colour) {
      const bool is_head = i + 1 < lines.size() && lines[i + 1].starts_with("  ");
      const std::size_t gap = line.find("  ");
      const bool has_label = gap != std::string::npos && gap <= shown.find('\n');
      const std::size_t label = has_label ? gap : is_head && shown == line ? line.size() : 0;
      shown = painted(std::move(shown), line.starts_with(' ') ? 0 : label);
    }
    out += shown;
    if (i + 1 < lines.size()) out += '\n';
  }
  return out;
}

}  // namespace foretrain
