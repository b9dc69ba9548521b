#include "operators/description.h"

#include <doctest/doctest.h>

#include <set>

using namespace foretrain;

TEST_CASE("every kind is described, by names of sizes that differ and an implementation that it has") {
  for (int k = 0; k < kOperatorKindCount; ++k) {
    const auto kind = static_cast<OperatorKind>(k);
    CAPTURE(name(kind));
    const Description& known = description(kind);
    CHECK(known.kind == kind);
    CHECK(has_impl(kind, known.usual_impl));
    const std::set<std::string_view> names(known.size_names.begin(), known.size_names.end());
    CHECK(names.size() == known.size_names.size());
    CHECK(names.size() >= 2);
    CHECK(names.size() <= kMaxSizes);
    for (const Relative& relative : known.relatives) {
      CHECK(has_impl(kind, relative.impl));
      CHECK(has_impl(relative.of_kind, relative.of_impl));
    }
    CHECK((known.flops != nullptr) == is_product(kind));
    CHECK((known.compute_time != nullptr) == is_product(kind));
  }
}

TEST_CASE("an operator without a family's own rule needs a tensor of its first two sizes") {
  // 10 x 6 elements of two bytes: what comes out, backward also what comes in, and in a chain one more.
  Operator op;
  op.kind = OperatorKind::kGelu;
  op.impl = Impl::kFused;
  op.set_flat({10, 6});
  CHECK(made_bytes(op) == Bytes(120));
  CHECK(working_bytes(op) == Bytes(120));
  op.impl = Impl::kEager;
  CHECK(working_bytes(op) == Bytes(2 * 120));
  op.pass = PassKind::kBackward;
  CHECK(working_bytes(op) == Bytes(3 * 120));
  CHECK(usual_launches(op) == 11);
  CHECK(flops(op) == Flops(0));
}
