// Which layers are of a kind, as Megatron takes it: a list in Python's words of 0 and 1, "([0]*3+[1]*58)", "[1,1,0]*8".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace foretrain {

// A digit a layer: "([0]*3+[1]*2)" is "00011". None: it is no such list, or longer than 10,000.
std::optional<std::string> layers_in_list(std::string_view list);

// The shortest of runs and of a repeated period: "00011" is "([0]*3+[1]*2)".
std::string list_of_layers(std::string_view layers);

}  // namespace foretrain
