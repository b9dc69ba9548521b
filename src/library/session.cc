#include "library/session.h"

#include <utility>

#include <foretrain/foretrain.h>
#include "ask/guard.h"
#include "library/border.h"
#include "wire/request_keys.h"

namespace foretrain {

Place::Place() : sessions_([this] { return std::make_unique<JsonSession>(files(), presets_); }) {}

Result<std::shared_ptr<Place>> Place::make(std::string_view options) {
  std::shared_ptr<Place> place(new Place);
  HeldFiles none;
  RequestKeys keys(none);
  bool files = true;
  keys.word("presets", place->presets_, "A folder laid out like presets/, looked in first");
  keys.flag("files", files, "Whether paths in requests are opened");
  TRY(keys.read(options, kMostRequestBytes));
  if (files) {
    place->files_ = &disk();
  } else {
    TRY_ASSIGN(place->held_, folder_held(disk(), place->presets_));
  }
  return place;
}

}  // namespace foretrain

using namespace foretrain;

foretrain_session* foretrain_session_open(const char* options) {
  return at_border<foretrain_session*>(nullptr, [&]() -> Result<foretrain_session*> {
    TRY_ASSIGN(auto place, Place::make(options == nullptr ? "" : options));
    return new foretrain_session{std::move(place)};
  });
}

void foretrain_session_close(foretrain_session* session) { delete session; }

char* foretrain_answer(foretrain_session* session, const char* verb, const char* request) {
  return at_border<char*>(nullptr, [&]() -> Result<char*> {
    TRY(present(session, "session"));
    TRY(present(verb, "verb"));
    auto answer = session->place->sessions().with(
        [&](JsonSession& one) { return one.answer(verb, request == nullptr ? "" : request); });
    if (!answer) return tl::unexpected(std::move(answer).error());
    return given_away(*answer);
  });
}
