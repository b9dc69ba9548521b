#include "version.h"

#include <string_view>

namespace foretrain {

const char* const kVersion = std::string_view(FORETRAIN_COMMIT).empty() ? FORETRAIN_VERSION
                                                                        : FORETRAIN_VERSION
                                 " (" FORETRAIN_COMMIT ")";

}  // namespace foretrain
