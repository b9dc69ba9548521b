#include "spec/catalog_entry.h"

#include "spec/read_fields.h"

namespace foretrain {

static Result<void> read_value(const Node& node, std::vector<std::string>& out, const ListOfNames&) {
  if (!node.is_list()) return fail("expected a list of names", node.at);
  for (const Node& item : node.items) {
    TRY_ASSIGN(std::string name, item.text());
    if (name.empty()) return fail("found an empty text, expected a name", item.at);
    out.push_back(std::move(name));
  }
  return {};
}

Result<std::vector<std::string>> aliases_of(const Node& file) {
  CatalogEntry entry;
  TRY(read_fields(file, kCatalogFields, entry));
  return entry.aliases;
}

}  // namespace foretrain
