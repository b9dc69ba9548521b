#include "base/result.h"

#include "base/field_mark.h"

namespace foretrain {

std::string Error::text() const {
  return text_of(*this, [](std::string_view name) { return std::string(name); });
}

}  // namespace foretrain
