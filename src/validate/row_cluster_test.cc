#include "validate/row_cluster.h"

#include <doctest/doctest.h>

#include "validate/example_table.h"

namespace foretrain {
namespace {

TEST_CASE("rows of a stack that name a machine mean the cluster whose file says so") {
  const ClusterNames names{Catalog()};
  const auto meant = [&](const char* cluster, const char* stack) {
    return names.named_by(example_row({{"cluster", cluster}, {"stack", stack}}));
  };
  CHECK(meant("aws-p5", "nanotron") == "aws-p5-playbook");
  CHECK(meant("aws-p5", "megatron") == "aws-p5");
  CHECK(meant("dgx-h100", "nanotron") == "dgx-h100");
  CHECK(meant("unheard-of", "nanotron") == "unheard-of");
}

}  // namespace
}  // namespace foretrain
