// What is wrong with a request, for a face that answers in JSON:
//   {"error": {"message": "gpus: found 'x', expected ...", "field": "gpus", "file": null, "line": null, "column": null,
//    "kind": "input"}}
// The message is the command line's, with the request's own keys in place of options. `kind` is input, machine (at its
// limits) or fault (ours).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace foretrain {

// The key of a request that holds a field of its struct.
std::string key_of_field(std::string_view field);

// Answers speak of fields as the command line does ("--range cp=1..8 brings it in"): they are its bytes.
std::string option_of_field(std::string_view field);

std::string error_json(const Error& error);

}  // namespace foretrain
