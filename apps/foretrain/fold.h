// A text in lines of at most `width` places: it begins at the place `at` and goes on below at `indent`. Words stay
// whole, but for those that no line holds; what is longer is cut behind one of its commas where there is one. Without a
// line's end behind it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace foretrain {

std::string folded(std::string_view text, std::size_t at, std::size_t indent, std::size_t width);

// Places that a text takes: UTF-8 characters.
std::size_t places(std::string_view text);
// Its first so many places.
std::string_view first_places(std::string_view text, std::size_t count);

}  // namespace foretrain
