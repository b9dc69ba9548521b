// JSON as people write it by hand: with comments (// and /* */, # too) and commas before a closing bracket. What is no JSON becomes
// blanks, so that places stay.
#pragma once

#include <string>
#include <string_view>

namespace foretrain {

std::string relaxed_json(std::string_view text);

}  // namespace foretrain
