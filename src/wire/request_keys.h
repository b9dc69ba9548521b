// The keys of a request in JSON, each with what it fills and a line on what it means: declared once, in the words of the
// request's struct, they are what is read, what is refused with the nearest name, and what docs/formats/api.md lists.
// Numbers and words are alike ({"gpus": 64}, {"gpus": "64"}); null is not given.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/yaml.h"
#include "wire/held_files.h"

namespace foretrain {

class RequestKeys {
 public:
  // Inline contents are put among the files under a name of their own, which the field then holds.
  explicit RequestKeys(HeldFiles& files) : files_(files) {}

  // A word or a number; a list of them is joined: [64, 128] is "64,128".
  void word(const char* key, std::string& target, const char* help);
  // A list of words, or one.
  void words(const char* key, std::vector<std::string>& target, const char* help);
  void flag(const char* key, bool& target, const char* help);
  // "tp=4,pp=2", or {"tp": 4, "pp": 2}.
  void plan(const char* key, std::string& target, const char* help);
  // A preset's name; what its file would hold, as an object or as text; or {"name": ..., "text": ...}.
  void spec(const char* key, std::string& target, const char* help);
  // A path; or the file's content, as a text, an object or {"name": ..., "text": ...}, which is put among the files.
  void file(const char* key, std::string& target, const char* help);
  // A content: text; {"name": ..., "text": ...}; {"name": ..., "base64": ...}; with `inlined` also the object itself.
  void content(const char* key, std::optional<Source>& target, const char* help, bool inlined = false);
  // A list of contents.
  void contents(const char* key, std::vector<Source>& target, const char* help, bool inlined = false);
  // An object of flags.
  void flags(const char* key, const std::vector<std::pair<const char*, bool*>>& targets, const char* help);

  // Fills the targets from the text of a request, an object; an empty text is an empty one.
  Result<void> read(std::string_view text, std::size_t max_bytes);

  struct Key {
    const char* name;
    const char* help;
    std::function<Result<void>(const Node&)> read;
  };
  const std::vector<Key>& all() const { return keys_; }

 private:
  Result<Source> content_of(const Node& node, const std::string& name, bool inlined) const;
  // An object as it stands in the request, behind as many lines and columns, so that places in it are the request's.
  std::string slice(const Node& node) const;
  // Puts a text among the files, and tells the name that it has there.
  std::string hold(const char* key, std::string name, std::string text);

  HeldFiles& files_;
  std::vector<Key> keys_;
  std::string_view text_;
};

}  // namespace foretrain
