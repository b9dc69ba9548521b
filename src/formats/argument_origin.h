// "9216........................updated": GPT-NeoX says behind each argument of its log's block whether somebody stated it.
#pragma once

#include <string_view>

namespace foretrain {

struct SaidArgument {
  std::string_view value;
  bool is_default = false;  // nobody stated it
};
SaidArgument said_argument(std::string_view text);

}  // namespace foretrain
