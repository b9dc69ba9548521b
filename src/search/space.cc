#include "search/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "base/check.h"
#include "base/field_mark.h"
#include "base/text.h"
#include "base/threads.h"
#include "search/members.h"
#include "search/stride.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostHeld = 100'000;       // families, of about 120 bytes each
constexpr std::size_t kMostRecent = 100'000;     // likewise, of regions that plans were asked of
constexpr std::size_t kRegionsForThreads = 256;  // fewer are counted as soon as a thread has begun

constexpr std::size_t kSamplesOfRegion = 8;
constexpr std::size_t kMostSamples = 4096;

// Evenly from all over them.
std::vector<Family> some_of(std::span<const Family> families, std::size_t most) {
  const std::size_t count = std::min(most, families.size());
  std::vector<Family> some;
  for (std::size_t k = 0; k < count; ++k)
    some.push_back(families[families.size() * (2 * k + 1) / (2 * count)]);
  return some;
}

}  // namespace

// The plans that a search tells lie in few regions. Threads may ask at once.
class Space::Recent {
 public:
  Family family_of(const Space& space, std::uint64_t index) {
    const std::lock_guard lock(mutex_);
    const std::size_t region = space.region_of(index);
    auto found = regions_.find(region);
    if (found == regions_.end()) {
      if (families_ > kMostRecent) {
        regions_.clear();
        families_ = 0;
      }
      FamilyMaker maker(space.legal());
      std::vector<Family> families;
      maker.make(space.regions()[region], families);
      families_ += families.size();
      found = regions_.emplace(region, std::move(families)).first;
    }
    return in(found->second, index);
  }

  static Family in(std::span<const Family> families, std::uint64_t index) {
    const auto after = std::upper_bound(families.begin(), families.end(), index,
                                        [](std::uint64_t i, const Family& f) { return i < f.first; });
    CHECK_THAT(after != families.begin() && (after - 1)->has(index));
    return *(after - 1);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::size_t, std::vector<Family>> regions_;
  std::size_t families_ = 0;
};

Space::Space() : recent_(std::make_unique<Recent>()) {}
Space::Space(Space&&) noexcept = default;
Space& Space::operator=(Space&&) noexcept = default;
Space::~Space() = default;

Result<Space> Space::make(Problem problem, Constraints constraints, int threads,
                          const std::function<bool()>& stop) {
  Space space;
  TRY_ASSIGN(auto legal, LegalValues::of(std::move(problem), std::move(constraints)));
  space.legal_ = std::make_unique<const LegalValues>(std::move(legal));
  space.regions_ = regions_of(*space.legal_);
  if (threads <= 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  space.count(space.regions_.size() < kRegionsForThreads ? 1 : threads, stop);
  return space;
}

void Space::count(int threads, const std::function<bool()>& stop) {
  std::vector<std::vector<Family>> made(regions_.size()), samples(regions_.size());
  std::atomic<std::size_t> next = 0, held = 0;
  std::atomic<bool> stopped = false;
  const std::size_t apart = stop ? stride_over(regions_.size()) : 1;
  run_on_threads(threads, [&](int) {
    FamilyMaker maker(*legal_);
    try {
      for (std::size_t n = next.fetch_add(1); n < regions_.size(); n = next.fetch_add(1)) {
        if (stop && held.load() > 0 && stop()) {
          stopped = true;
          return;
        }
        const std::size_t i = n * apart % regions_.size();
        Region& region = regions_[i];
        region.not_launched = maker.make(region, made[i]);
        region.families = static_cast<std::uint32_t>(made[i].size());
        if (!made[i].empty()) region.values.plans = made[i].back().first + made[i].back().plans;
        samples[i] = some_of(made[i], kSamplesOfRegion);
        if (held.fetch_add(made[i].size()) + made[i].size() > kMostHeld) std::vector<Family>().swap(made[i]);
      }
    } catch (...) {
      next = regions_.size();
      throw;
    }
  });
  whole_ = !stopped;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    Region& region = regions_[i];
    not_launched_ += region.not_launched;
    if (region.plans() == 0) continue;
    region.values.first = size_;
    for (Family& family : made[i]) family.first += size_;
    for (Family& family : samples[i]) {
      family.first += size_;
      samples_.push_back(family);
    }
    size_ += region.plans();
    families_ += region.families;
    if (kept != i) {
      regions_[kept] = region;
      made[kept] = std::move(made[i]);
    }
    ++kept;
  }
  regions_.resize(kept);
  regions_.shrink_to_fit();
  made.resize(kept);
  held_ = std::move(made);
  samples_ = some_of(samples_, kMostSamples);
}

std::vector<LeftOut> Space::left_out() const {
  const Problem& problem = legal_->problem();
  std::vector<LeftOut> all;
  if (not_launched_ > 0)
    all.push_back({fmt::format("{} plans", with_commas(static_cast<std::int64_t>(not_launched_))),
                   fmt::format("stack {} does not launch them; {} any looks at what any framework runs",
                               problem.stack.name, marked("stack"))});
  for (const Dimension& dimension : dimensions()) {
    if (legal_->is_bounded(dimension))
      if (const Value most = dimension.most(problem); most < problem.gpus.back())
        all.push_back({fmt::format("{} > {}", dimension.name, most), dimension.why_not_more(problem)});
    if (dimension.others != nullptr && constraints().find(dimension.name) == nullptr)
      if (auto others = dimension.others(problem)) all.push_back(*std::move(others));
  }
  return all;
}

std::span<const Family> Space::families_of(std::size_t region, FamilyMaker& maker,
                                           std::vector<Family>& room) const {
  if (!held_[region].empty()) return held_[region];
  room.clear();
  maker.make(regions_[region], room);
  return room;
}

std::size_t Space::region_of(std::uint64_t index) const {
  CHECK_THAT(index < size_);
  const auto after = std::upper_bound(regions_.begin(), regions_.end(), index,
                                      [](std::uint64_t i, const Region& r) { return i < r.first(); });
  return static_cast<std::size_t>(after - regions_.begin()) - 1;
}

Family Space::family_of(std::uint64_t index) const {
  const std::size_t region = region_of(index);
  if (!held_[region].empty()) return Recent::in(held_[region], index);
  return recent_->family_of(*this, index);
}

Candidate Space::candidate(std::uint64_t index) const {
  const Family family = family_of(index);
  Members members(*legal_, family);
  return members.member(index - family.first);
}

}  // namespace foretrain
