#include "base/progress.h"

#include <unistd.h>

#include <algorithm>

#include "base/text.h"

namespace foretrain {
namespace {

constexpr std::size_t kCells = 24;
constexpr std::string_view kWipe = "\r\x1b[K";  // back to the line's start, clear to its end

}  // namespace

std::string progress_line(std::string_view what, std::string_view unit, std::size_t done, std::size_t all,
                          Seconds elapsed) {
  const double share = all > 0 ? std::min(1.0, static_cast<double>(done) / static_cast<double>(all)) : 0.0;
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(kCells));
  const std::string percent = std::to_string(static_cast<int>(share * 100));
  std::string line(what);
  line += "  [" + std::string(filled, '#') + std::string(kCells - filled, '.') + "]  ";
  line += std::string(3 - percent.size(), ' ') + percent + " %  ";
  line += with_commas(static_cast<std::int64_t>(done)) + " of " +
          with_commas(static_cast<std::int64_t>(all)) + " " + std::string(unit);
  if (done == 0 || elapsed.value <= 0) return line;
  const double rate = static_cast<double>(done) / elapsed.value;
  const double left = static_cast<double>(all - std::min(done, all)) / rate;
  return line + ", " + human_count(rate) + "/s, " + human_seconds(Seconds(left)) + " left";
}

ProgressBar::ProgressBar(std::string what, std::string unit, std::FILE* out)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      out_(::isatty(::fileno(out)) != 0 ? out : nullptr),
      begin_(std::chrono::steady_clock::now()) {}

ProgressBar::~ProgressBar() {
  if (out_ != nullptr) std::fwrite(kWipe.data(), 1, kWipe.size(), out_);
}

void ProgressBar::update(std::size_t done, std::size_t all, std::string_view note) {
  if (out_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (drawn_ != std::chrono::steady_clock::time_point{} && done < all &&
      now - drawn_ < std::chrono::milliseconds(100))
    return;
  drawn_ = now;
  const Seconds elapsed(std::chrono::duration<double>(now - begin_).count());
  std::string line = std::string(kWipe) + progress_line(what_, unit_, done, all, elapsed);
  if (!note.empty()) line += ", " + std::string(note);
  std::fwrite(line.data(), 1, line.size(), out_);
  std::fflush(out_);
}

}  // namespace foretrain
