// request_tables VERB: the rows of a table in docs/formats/api.md, from the keys that a request declares; without a verb
// the verbs themselves. The document names this program as what prints them.
#include <fmt/format.h>

#include <string_view>

#include "wire/verb.h"

using namespace foretrain;

int main(int count, char** arguments) {
  if (count < 2) {
    for (const Verb& verb : verbs())
      fmt::print("| `{}` | {} | {} MiB |\n", verb.name, verb.what, verb.most_bytes >> 20);
    return 0;
  }
  const auto verb = find_verb(arguments[1]);
  if (!verb) {
    fmt::print(stderr, "{}\n", verb.error().message);
    return 2;
  }
  HeldFiles files;
  RequestKeys keys(files);
  const auto request = (*verb)->make();
  request->declare(keys);
  for (const RequestKeys::Key& key : keys.all()) fmt::print("| `{}` | {} |\n", key.name, key.help);
}
