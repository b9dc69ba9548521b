// Questions in JSON, answered in JSON: what a page and other languages talk to. One session serves one thread at a time.
//
//   JsonSession session;
//   session.answer("predict", R"({"model": "llama-3-8b", "cluster": "dgx-h100", "gpus": 64, "global_batch": 512})")
//
// The answer has the same bytes as the command line's --json for the same question. No word of a request opens a file.
#pragma once

#include <string>
#include <string_view>

#include "ask/session.h"
#include "wire/error_json.h"
#include "wire/held_files.h"
#include "wire/search_question.h"
#include "wire/verb.h"

namespace foretrain {

class JsonSession {
 public:
  JsonSession() : session_(files_) {}
  // `below` holds a folder laid out like presets/ under the name `presets` (folder_held), looked in first.
  JsonSession(const Files& below, std::string presets, const SessionLimits& limits = {})
      : files_(below), session_(files_, std::move(presets), limits) {}
  JsonSession(const JsonSession&) = delete;
  JsonSession& operator=(const JsonSession&) = delete;

  Result<std::string> answer(std::string_view verb, std::string_view request, const VerbBounds& bounds = {});

  // A search that is run later, by answer(question), in this session and on its thread.
  Result<SearchQuestion> prepare_search(std::string_view request);
  Result<std::string> answer(const SearchQuestion& question);

 private:
  HeldFiles files_;
  Session session_;
};

}  // namespace foretrain
