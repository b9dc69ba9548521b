// The rules of what long sequences are made of and how they are worked off; a part of check_run.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "spec/run.h"

namespace foretrain {

// The loss and the MLP in pieces of tokens.
Result<void> check_pieces(const Run& run);

Result<void> check_documents(const Run& run);
// Attention by document, where the kernels do it, and what is not known of the documents. Of a plan whose dp is known.
std::vector<std::string> assumed_of_documents(const Run& run);

}  // namespace foretrain
