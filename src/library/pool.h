// What calls on one handle work with, each with one of its own: a call takes one that is idle, or has one made, and
// gives it back for the next.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace foretrain {

template <class T>
class Pool {
 public:
  explicit Pool(std::function<std::unique_ptr<T>()> make) : make_(std::move(make)) {}

  std::unique_ptr<T> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<T> item = std::move(idle_.back());
        idle_.pop_back();
        return item;
      }
    }
    return make_();
  }
  // As many are kept as the machine can have at work. Destructors give too: what there is no room to keep is let go of.
  void give(std::unique_ptr<T> item) noexcept {
    try {
      const std::lock_guard lock(mutex_);
      if (idle_.size() < std::max(1u, std::thread::hardware_concurrency())) idle_.push_back(std::move(item));
    } catch (...) {
    }
  }

  // What throws may leave it half done, so that it is not kept.
  template <class Work>
  auto with(const Work& work) {
    std::unique_ptr<T> item = take();
    auto result = work(*item);
    give(std::move(item));
    return result;
  }

 private:
  std::function<std::unique_ptr<T>()> make_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> idle_;
};

}  // namespace foretrain
