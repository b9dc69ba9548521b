#include "cost/memo.h"

#include <doctest/doctest.h>

#include "cost/testing.h"

using namespace foretrain;

TEST_CASE("a memo answers as its source does and asks once a shape") {
  class Counting final : public CostSource {
   public:
    OperatorCost cost(const Operator& op) const override {
      ++asked;
      OperatorCost c;
      c.gpu = Seconds(static_cast<double>(op.as<LinearSizes>().m));
      return c;
    }
    mutable int asked = 0;
  };
  const auto source = std::make_shared<const Counting>();
  const MemoCost memo(source);
  for (int round = 0; round < 3; ++round)
    for (std::int64_t m = 1; m <= 5000; ++m)
      REQUIRE(memo.cost(linear(m, PassKind::kForward)).gpu == Seconds(static_cast<double>(m)));
  CHECK(source->asked == 5000);
  CHECK(memo.size() == 5000);
}
