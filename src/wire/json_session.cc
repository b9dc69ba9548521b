#include "wire/json_session.h"

#include "ask/guard.h"

namespace foretrain {
namespace {

// What a request brought along is let go of with its answer.
class Held {
 public:
  explicit Held(HeldFiles& files) : files_(files) { files_.let_go(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { files_.let_go(); }

 private:
  HeldFiles& files_;
};

}  // namespace

Result<std::string> JsonSession::answer(std::string_view verb, std::string_view request,
                                        const VerbBounds& bounds) {
  return guarded([&]() -> Result<std::string> {
    TRY_ASSIGN(const Verb* found, find_verb(verb));
    const Held held(files_);
    RequestKeys keys(files_);
    const std::unique_ptr<VerbRequest> asked = found->make();
    asked->declare(keys);
    asked->bound(bounds);
    TRY(keys.read(request, found->most_bytes));
    return asked->answer(session_);
  });
}

Result<SearchQuestion> JsonSession::prepare_search(std::string_view request) {
  return guarded([&]() -> Result<SearchQuestion> {
    const Held held(files_);
    RequestKeys keys(files_);
    SearchQuestion question;
    question.declare(keys);
    TRY(keys.read(request, kMostRequestBytes));
    TRY(question.prepare(session_));
    return question;
  });
}

Result<std::string> JsonSession::answer(const SearchQuestion& question) {
  return guarded([&] { return question.answer(session_); });
}

}  // namespace foretrain
