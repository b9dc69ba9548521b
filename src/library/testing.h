// For tests of foretrain.h: texts that are given away, as strings; the last error's message.
#pragma once

#include <foretrain/foretrain.h>

#include <memory>
#include <string>

#include "base/json_node.h"

namespace foretrain {

inline std::string taken(char* text) {
  if (text == nullptr) return "";
  std::string out = text;
  foretrain_free(text);
  return out;
}

inline Node last_error() {
  return *parse_json(foretrain_last_error(), "the last error").value().find("error");
}

inline double number(const std::string& json, std::string_view key) {
  return std::stod(parse_json(json, "an answer").value().find(key)->scalar);
}

struct Close {
  void operator()(foretrain_session* session) const { foretrain_session_close(session); }
  void operator()(foretrain_run* run) const { foretrain_run_close(run); }
  void operator()(foretrain_search* search) const { foretrain_search_close(search); }
};
template <class Handle>
std::unique_ptr<Handle, Close> held(Handle* handle) {
  return std::unique_ptr<Handle, Close>(handle);
}

}  // namespace foretrain
