// What this program is: "0.1.0 (abc1234)", its version and the commit that it was built of, where that is known.
#pragma once

namespace foretrain {

extern const char* const kVersion;

}  // namespace foretrain
