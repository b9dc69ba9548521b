#include "formats/tree_text.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "base/yaml_text.h"

namespace foretrain {
namespace {

// A map of maps in the order of first mention.
struct Branch {
  std::string name;
  std::vector<Branch> below;
  const KeySetting* leaf = nullptr;
};

Branch tree_of(const Settings& settings) {
  Branch root;
  for (const KeySetting& setting : settings) {
    Branch* at = &root;
    for (const std::string_view part : split(setting.key, '.')) {
      auto found =
          std::find_if(at->below.begin(), at->below.end(), [&](const Branch& b) { return b.name == part; });
      if (found == at->below.end()) found = at->below.insert(found, {std::string(part), {}, nullptr});
      at = &*found;
    }
    at->leaf = &setting;
  }
  return root;
}

bool is_bare(const std::string& word) {
  return word == "true" || word == "false" || word == "null" || parse_number(word).has_value();
}

std::string yaml_scalar(const std::string& word) {
  const bool plain =
      !word.empty() && word.front() != '-' &&
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-+") ==
          std::string::npos;
  const bool blank =
      word.starts_with("${") && word.find('}') == word.size() - 1;  // bash may put a number there
  return is_bare(word) || plain || blank ? word : yaml_quoted(word);
}

void write_yaml(const Branch& branch, int depth, std::string& out) {
  for (const Branch& child : branch.below) {
    out += std::string(static_cast<std::size_t>(2 * depth), ' ') + child.name + ":";
    if (child.leaf == nullptr) {
      out += "\n";
      write_yaml(child, depth + 1, out);
      continue;
    }
    const auto& words = child.leaf->words;
    if (words.size() < 2) {
      out += " " + (words.empty() ? "true" : yaml_scalar(words.front())) + "\n";
      continue;
    }
    std::string list;
    for (const std::string& word : words) list += (list.empty() ? "" : ", ") + yaml_scalar(word);
    out += " [" + list + "]\n";
  }
}

void write_scalar(JsonWriter& w, const std::string& word) {
  if (word == "true" || word == "false")
    w.value(word == "true");
  else if (word == "null")
    w.null();
  else if (const auto whole = parse_integer(word))
    w.value(*whole);
  else if (const auto number = parse_number(word))
    w.value(*number);
  else
    w.value(word);
}

void write_json(JsonWriter& w, const Branch& branch) {
  w.begin_object();
  for (const Branch& child : branch.below) {
    w.key(child.name);
    if (child.leaf == nullptr) {
      write_json(w, child);
    } else if (child.leaf->words.size() < 2) {
      write_scalar(w, child.leaf->words.empty() ? "true" : child.leaf->words.front());
    } else {
      w.begin_array();
      for (const std::string& word : child.leaf->words) write_scalar(w, word);
      w.end_array();
    }
  }
  w.end_object();
}

}  // namespace

std::string yaml_of(const Settings& settings) {
  std::string out;
  write_yaml(tree_of(settings), 0, out);
  return out;
}

std::string json_of(const Settings& settings) {
  JsonWriter w;
  write_json(w, tree_of(settings));
  return w.text();
}

}  // namespace foretrain
