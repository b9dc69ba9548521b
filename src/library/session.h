// What the handles of foretrain.h hold in common: where the names of requests lead, and sessions that answer, one for
// each call that is under way.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "library/pool.h"
#include "wire/held_files.h"
#include "wire/json_session.h"

namespace foretrain {

class Place {
 public:
  // {"presets": "folder", "files": false}; an empty text is {}.
  static Result<std::shared_ptr<Place>> make(std::string_view options);

  const Files& files() const { return files_ != nullptr ? *files_ : held_; }
  const std::string& presets() const { return presets_; }
  Pool<JsonSession>& sessions() { return sessions_; }

 private:
  Place();

  HeldFiles held_;                // the presets' folder, where no file may be opened
  const Files* files_ = nullptr;  // the disk, where any may
  std::string presets_;
  Pool<JsonSession> sessions_;
};

}  // namespace foretrain

struct foretrain_session {
  std::shared_ptr<foretrain::Place> place;
};
