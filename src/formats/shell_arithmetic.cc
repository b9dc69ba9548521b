#include "formats/shell_arithmetic.h"

#include "base/text.h"
#include "formats/shell_statements.h"

namespace foretrain {
namespace {

constexpr int kDeepest = 32;
using Number = std::optional<std::int64_t>;

class Sum {
 public:
  Sum(std::string_view text, const ShellLookup& variable) : text_(text), variable_(variable) {}

  Number all() {
    const Number value = sum(0);
    blanks();
    return at_ == text_.size() ? value : std::nullopt;
  }

 private:
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  char peek() {
    blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  Number sum(int depth) {
    Number value = product(depth);
    while (value && (peek() == '+' || peek() == '-')) {
      const char sign = text_[at_++];
      const Number other = product(depth);
      std::int64_t out = 0;
      if (!other || (sign == '+' ? __builtin_add_overflow(*value, *other, &out)
                                 : __builtin_sub_overflow(*value, *other, &out)))
        return std::nullopt;
      value = out;
    }
    return value;
  }

  Number product(int depth) {
    Number value = factor(depth);
    while (value && (peek() == '*' || peek() == '/' || peek() == '%')) {
      const char sign = text_[at_++];
      const Number other = factor(depth);
      if (!other || (sign != '*' && (*other == 0 || *other == -1))) return std::nullopt;
      std::int64_t out = 0;
      if (sign == '*' && __builtin_mul_overflow(*value, *other, &out)) return std::nullopt;
      value = sign == '*' ? out : sign == '/' ? *value / *other : *value % *other;
    }
    return value;
  }

  Number factor(int depth) {
    if (depth > kDeepest) return std::nullopt;
    if (peek() == '(') {
      ++at_;
      const Number value = sum(depth + 1);
      if (peek() != ')') return std::nullopt;
      ++at_;
      return value;
    }
    const bool braces = text_.substr(at_).starts_with("${");
    if (braces)
      at_ += 2;
    else if (peek() == '$')
      ++at_;
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_part(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (braces && (at_ >= text_.size() || text_[at_++] != '}')) return std::nullopt;
    if (word.empty()) return std::nullopt;
    if (word.front() >= '0' && word.front() <= '9') return parse_integer(word);
    const std::optional<std::string> value = variable_(word);
    return value ? parse_integer(trim(*value)) : std::nullopt;
  }

  std::string_view text_;
  const ShellLookup& variable_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::int64_t> shell_arithmetic(std::string_view text, const ShellLookup& variable) {
  return Sum(text, variable).all();
}

}  // namespace foretrain
