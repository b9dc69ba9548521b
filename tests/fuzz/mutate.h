// Text made wrong on purpose, the same way for the same seed: bytes, lines, words and numbers of a good text
// are changed, a few at a time, so that some of the results are still good.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foretrain {

// splitmix64 (Steele, Lea, Flood 2014): the same numbers on every machine, unlike <random>'s distributions.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : next() % limit; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class List>
  decltype(auto) pick(const List& list) {
    return list[below(std::size(list))];
  }

 private:
  std::uint64_t state_;
};

// One to four changes, most often one. `words` are what a word may be replaced by.
std::string mutated(std::string text, std::span<const std::string> words, Random& random);

// The words of a text: runs of letters, digits, '_', '-' and '.'.
std::vector<std::string> words_of(std::string_view text);

}  // namespace foretrain
