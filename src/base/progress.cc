#include "base/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace foretrain {
namespace {

constexpr std::size_t kCells = 24, kFewestCells = 4;
constexpr Seconds kKnown(1);  // before, rate and time left are mostly of what is done once
constexpr auto kRedrawn = std::chrono::milliseconds(100);  // on a terminal
constexpr auto kRepeated = std::chrono::seconds(10);       // elsewhere
constexpr std::string_view kWipe = "\r\x1b[K";             // back to the line's start, clear to its end

double share_of(std::size_t done, std::size_t all) {
  return all > 0 ? std::min(1.0, static_cast<double>(done) / static_cast<double>(all)) : 0.0;
}

// A dumb terminal would show what moves others' cursors.
bool draws(std::FILE* stream) {
  const char* term = std::getenv("TERM");
  return ::isatty(::fileno(stream)) != 0 && (term == nullptr || std::string_view(term) != "dumb");
}

// The last place is left free: a terminal may begin a new line behind it.
std::size_t width_of(std::FILE* terminal) {
  winsize size{};
  if (::ioctl(::fileno(terminal), TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return std::string::npos;
  return size.ws_col - 1u;
}

}  // namespace

namespace {

std::string percent_text(std::size_t done, std::size_t all) {
  const std::string percent = std::to_string(static_cast<int>(share_of(done, all) * 100));
  return std::string(3 - percent.size(), ' ') + percent + " %";
}

std::string counts_text(std::string_view unit, std::size_t done, std::size_t all) {
  return with_commas(static_cast<std::int64_t>(done)) + " of " + with_commas(static_cast<std::int64_t>(all)) +
         " " + std::string(unit);
}

// Nothing where too little is known.
struct Pace {
  std::string rate, left;
};
Pace pace_of(std::size_t done, std::size_t all, Seconds elapsed) {
  if (done == 0 || elapsed < kKnown) return {};
  const double rate = static_cast<double>(done) / elapsed.value;
  const double left = static_cast<double>(all - std::min(done, all)) / rate;
  return {human_count(rate) + "/s", human_seconds(Seconds(left)) + " left"};
}

// Its parts that are there, with what stands between them.
std::string joined(std::string text, std::string_view between, std::string_view part) {
  if (part.empty()) return text;
  return text.empty() ? std::string(part) : text + std::string(between) + std::string(part);
}

}  // namespace

std::string progress_text(std::string_view unit, std::size_t done, std::size_t all, Seconds elapsed,
                          std::string_view note) {
  const Pace pace = pace_of(done, all, elapsed);
  std::string text = joined(std::string(note), "; ", counts_text(unit, done, all));
  text = joined(joined(std::move(text), ", ", pace.rate), ", ", pace.left);
  return percent_text(done, all) + "  " + text;
}

std::string progress_line(std::string_view what, std::string_view unit, std::size_t done, std::size_t all,
                          Seconds elapsed, std::string_view note, std::size_t width) {
  const std::string percent = percent_text(done, all);
  const Pace pace = pace_of(done, all, elapsed);
  const std::string counts = counts_text(unit, done, all);
  const std::string_view noted = note.substr(0, note.find(','));
  const std::string texts[] = {
      progress_text(unit, done, all, elapsed, note),
      percent + "  " + joined(joined(std::string(note), "; ", counts), ", ", pace.left),
      percent + "  " + joined(std::string(note), "; ", pace.left),
      percent + "  " + joined(std::string(noted), "; ", pace.left),
      percent + "  " + (pace.left.empty() ? std::string(noted) : pace.left),
      percent};
  const auto others = [&](const std::string& text) { return what.size() + 6 + text.size(); };
  const auto* text = std::begin(texts);
  while (text + 1 != std::end(texts) && others(*text) + kFewestCells > width) ++text;
  const std::size_t room = width > others(*text) ? width - others(*text) : 0;
  const std::size_t cells = std::clamp(room, kFewestCells, kCells);
  const auto filled = static_cast<std::size_t>(share_of(done, all) * static_cast<double>(cells));
  std::string line =
      std::string(what) + "  [" + std::string(filled, '#') + std::string(cells - filled, '.') + "]  " + *text;
  line.erase(line.find_last_not_of(' ') + 1);
  return line.substr(0, width);
}

ProgressBar::ProgressBar(std::string what, std::string unit, std::FILE* out)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      out_(out),
      terminal_(draws(out)),
      begin_(std::chrono::steady_clock::now()),
      drawn_(begin_) {}

ProgressBar::~ProgressBar() {
  if (terminal_) std::fwrite(kWipe.data(), 1, kWipe.size(), out_);
}

void ProgressBar::update(std::size_t done, std::size_t all, std::string_view note) {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  if (now - drawn_ < (terminal_ ? kRedrawn : kRepeated)) return;
  drawn_ = now;
  const Seconds elapsed(std::chrono::duration<double>(now - begin_).count());
  const std::string shown =
      terminal_ ? std::string(kWipe) + progress_line(what_, unit_, done, all, elapsed, note, width_of(out_))
                : "foretrain: " + what_ + ": " + progress_text(unit_, done, all, elapsed, note) + "\n";
  std::fwrite(shown.data(), 1, shown.size(), out_);
  std::fflush(out_);
}

}  // namespace foretrain
