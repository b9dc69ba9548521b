#include "base/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"

namespace foretrain {
namespace {

constexpr std::size_t kCells = 24, kFewestCells = 4;
constexpr auto kRedrawn = std::chrono::milliseconds(100);  // on a terminal
constexpr auto kRepeated = std::chrono::seconds(10);       // elsewhere
constexpr Seconds kFirstEstimate(1);                       // what was done in less says little of the rest
constexpr std::string_view kWipe = "\r\x1b[K";             // back to the line's start, clear to its end

double share_of(std::size_t done, std::size_t all) {
  return all > 0 ? std::min(1.0, static_cast<double>(done) / static_cast<double>(all)) : 0.0;
}

// The last place is left free: a terminal may begin a new line behind it.
std::size_t width_of(std::FILE* terminal) {
  winsize size{};
  if (::ioctl(::fileno(terminal), TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return std::string::npos;
  return size.ws_col - 1u;
}

}  // namespace

std::string progress_text(std::string_view unit, std::size_t done, std::size_t all, Seconds elapsed,
                          std::string_view note) {
  const std::string percent = std::to_string(static_cast<int>(share_of(done, all) * 100));
  std::string text = std::string(3 - percent.size(), ' ') + percent + " %  ";
  if (!note.empty()) text += std::string(note) + "; ";
  text += with_commas(static_cast<std::int64_t>(done)) + " of " +
          with_commas(static_cast<std::int64_t>(all)) + " " + std::string(unit);
  if (done == 0 || elapsed < kFirstEstimate) return text;
  const double rate = static_cast<double>(done) / elapsed.value;
  const double left = static_cast<double>(all - std::min(done, all)) / rate;
  return text + ", " + human_count(rate) + "/s, " + human_seconds(Seconds(left)) + " left";
}

std::string progress_line(std::string_view what, std::string_view unit, std::size_t done, std::size_t all,
                          Seconds elapsed, std::string_view note, std::size_t width) {
  const std::string text = progress_text(unit, done, all, elapsed, note);
  const std::size_t others = what.size() + 6 + text.size();
  const std::size_t cells = width > others ? std::clamp(width - others, kFewestCells, kCells) : kFewestCells;
  const auto filled = static_cast<std::size_t>(share_of(done, all) * static_cast<double>(cells));
  const std::string line =
      std::string(what) + "  [" + std::string(filled, '#') + std::string(cells - filled, '.') + "]  " + text;
  return line.substr(0, width);
}

ProgressBar::ProgressBar(std::string what, std::string unit, std::FILE* out)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      out_(out),
      terminal_(::isatty(::fileno(out)) != 0),
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
