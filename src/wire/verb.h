// What can be asked in JSON: a verb for each question, which declares the keys of its request and answers it with the
// bytes of the command line's --json.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ask/session.h"
#include "wire/request_keys.h"

namespace foretrain {

// What whoever asks gives an answer: the command line all that there is, a server less.
struct VerbBounds {
  double most_seconds = 600;                // of what looks for something better until its time is over
  int threads = 0;                          // 0: as many as the machine has
  std::size_t most_rows = 0;                // of tables that are scored, each of which is kept; 0: any number
  const std::atomic<bool>* stop = nullptr;  // nobody waits for it any more
};

class VerbRequest {
 public:
  virtual ~VerbRequest() = default;
  virtual void declare(RequestKeys& keys) = 0;
  virtual Result<std::string> answer(Session& session) = 0;
  virtual void bound(const VerbBounds&) {}  // before answer(); most take no longer than they are told to
};

inline constexpr std::size_t kMostRequestBytes = std::size_t{1} << 20;  // of a question
inline constexpr std::size_t kMostUploadBytes = std::size_t{64}
                                                << 20;  // of one that brings measurements along

struct Verb {
  std::string_view name;
  std::string_view what;
  std::size_t most_bytes;
  std::unique_ptr<VerbRequest> (*make)();
};
std::span<const Verb> verbs();
Result<const Verb*> find_verb(std::string_view name);

// Of the files predict_verbs.cc, file_verbs.cc and name_verbs.cc.
std::unique_ptr<VerbRequest> predict_verb();
std::unique_ptr<VerbRequest> accuracy_verb();
std::unique_ptr<VerbRequest> over_verb();
std::unique_ptr<VerbRequest> compare_verb();
std::unique_ptr<VerbRequest> convert_verb();
std::unique_ptr<VerbRequest> import_verb();
std::unique_ptr<VerbRequest> validate_verb();
std::unique_ptr<VerbRequest> diagnose_verb();
std::unique_ptr<VerbRequest> list_verb();
std::unique_ptr<VerbRequest> show_verb();
std::unique_ptr<VerbRequest> cost_verb();
std::unique_ptr<VerbRequest> search_verb();  // of search.cc, from beginning to end

// An answer in text, and one with what was asked for beside it ({"answer": ..., "timeline": ...}; without any, the
// answer alone). Texts of JSON.
std::string text_answer(std::string_view text);
std::string with_views(std::string answer, const std::vector<std::pair<const char*, std::string>>& views);

}  // namespace foretrain
