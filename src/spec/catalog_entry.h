// What a file states for a catalog, which is no part of the value that the file describes.
#pragma once

#include <string>
#include <vector>

#include "base/yaml.h"
#include "spec/field.h"

namespace foretrain {

struct CatalogEntry {
  std::vector<std::string> aliases;
};
struct ListOfNames {};
inline constexpr auto kCatalogFields = std::tuple{
    field("aliases", &CatalogEntry::aliases, ListOfNames{},
          "further names by which a catalog finds the file; upper and lower case are alike", "none"),
};

// Of a model's or a stack's file.
Result<std::vector<std::string>> aliases_of(const Node& file);

}  // namespace foretrain
