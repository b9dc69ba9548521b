#include "spec/stack_base.h"

#include <doctest/doctest.h>

#include "base/testing.h"
#include "spec/catalog.h"

using namespace foretrain;

TEST_CASE("a stack over a base takes what it does not state, key by key, and no names") {
  const Node base = parse_yaml("{name: a, aliases: [b], x: {p: 1, q: 2}, list: [1, 2]}", "a").value();
  const Node own = parse_yaml("{base: a, name: c, x: {q: 3}, list: [4]}", "c").value();
  const Node stack = over_base(own, base);
  CHECK(stack.find("name")->scalar == "c");
  CHECK(stack.find("aliases") == nullptr);
  CHECK(stack.find("base") == nullptr);
  CHECK(stack.find("x")->find("p")->scalar == "1");
  CHECK(stack.find("x")->find("q")->scalar == "3");
  CHECK(stack.find("list")->items.size() == 1);
}

TEST_CASE("the catalog reads a stack over its base, and refuses one that is not there or leads to itself") {
  const Catalog catalog;
  const auto inline_stack = [&](const char* text) {
    return catalog.stack(parse_yaml(text, "run.yaml").value());
  };
  const Stack megatron = catalog.stack("megatron").value();
  const Stack changed = inline_stack("{base: megatron, host: {calls_per_step: 7}}").value();
  CHECK(changed.host.calls_per_step == 7);
  CHECK(changed.host.calls_per_layer == megatron.host.calls_per_layer);
  CHECK(changed.parts == megatron.parts);
  CHECK(changed.name == "inline");
  const auto unknown = inline_stack("{base: megatrom}");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().text() == "run.yaml:1:8: error: unknown stack 'megatrom'; did you mean 'megatron'?");
  const auto misspelt = inline_stack("{base: megatron, hosts: {}}");
  REQUIRE_FALSE(misspelt);
  CHECK(misspelt.error().text().find("unknown key 'hosts'") != std::string::npos);
}

TEST_CASE("Primus runs Megatron without the fusions that it leaves off") {
  const Stack primus = Catalog().stack("primus-megatron").value(),
              megatron = Catalog().stack("megatron").value();
  CHECK(primus.name == "primus-megatron");
  CHECK_FALSE(primus.experts.permute_fusion);
  CHECK_FALSE(primus.gradients.fused_accumulation);
  CHECK(megatron.experts.permute_fusion);
  CHECK(primus.parts == megatron.parts);
}
