#include "validate/row_cluster.h"

namespace foretrain {

ClusterNames::ClusterNames(const Catalog& catalog) {
  for (const std::string& name : catalog.names("clusters")) {
    const auto text = catalog.text("clusters", name);
    // Of well over a hundred files few state it: only these are parsed.
    if (!text || text->find(kRowsKey) == std::string::npos) continue;
    const auto words = parse_yaml(*text, name).and_then(cluster_words_of);
    if (words && *words) words_.emplace_back(name, **words);
  }
}

const std::string& ClusterNames::named_by(const MeasuredRow& row) const {
  for (const auto& [name, words] : words_)
    if (words.cluster == row.cluster && words.stack == row.stack) return name;
  return row.cluster;
}

}  // namespace foretrain
