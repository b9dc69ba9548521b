#include "spec/launch_rule.h"

#include <doctest/doctest.h>

#include "base/yaml.h"

namespace foretrain {
namespace {

Result<std::vector<LaunchRule>> rules_of(const std::string& text) {
  return parse_launch_rules(parse_yaml(text, "rules.yaml").value());
}

std::string error_of(const std::string& text) { return rules_of(text).error().message; }

TEST_CASE("a rule holds words, numbers and ranges of a plan's keys") {
  const auto rules = rules_of(
      "gather: {plan: {overlap_param_gather: 1}, needs: {zero: 1.., schedule: [1f1b, zbv], tp: 2..4}, says: "
      "so}");
  REQUIRE(rules.has_value());
  const LaunchRule& rule = rules->front();
  CHECK(rule.name == "gather");
  CHECK(rule.says == "so");
  CHECK(rule.speaks_of(Trait::kZero));
  CHECK_FALSE(rule.speaks_of(Trait::kPp));
  CHECK(to_text(rule.plan.front()) == "overlap_param_gather=1");
  CHECK(to_text(rule.needs[0]) == "zero=1..");
  CHECK(to_text(rule.needs[1]) == "schedule=1f1b|zbv");
  CHECK(to_text(rule.needs[2]) == "tp=2..4");
  CHECK(rule.needs[0].holds(3));
  CHECK_FALSE(rule.needs[0].holds(0));
  CHECK_FALSE(rule.needs[2].holds(5));
}

TEST_CASE("a rule may be none, so that a base's does not hold") {
  const auto rules = rules_of("a: none\nb: {needs: {tp: 1}, says: so}\n");
  REQUIRE(rules.has_value());
  REQUIRE(rules->size() == 1);
  CHECK(rules->front().name == "b");
}

TEST_CASE("what a rule does not know is refused with what it does") {
  CHECK(error_of("a: {needs: {zeros: 1}, says: so}") == "a: unknown key 'zeros'; did you mean 'zero'?");
  CHECK(error_of("a: {needs: {schedule: 1f1}, says: so}") ==
        "a: schedule: unknown word '1f1'; did you mean '1f1b'?");
  CHECK(error_of("a: {needs: {tp: 4..2}, says: so}") == "a: tp: found '4..2', which is empty");
  CHECK(error_of("a: {needs: {schedule: []}, says: so}") ==
        "a: schedule: found an empty list, expected at least one value");
  const auto placed = rules_of("a:\n  needs: {zero: []}\n  says: so\n").error();
  CHECK(placed.at.line == 2);
  CHECK(placed.at.column == 17);
  CHECK(error_of("a: {needs: {tp: 1}}") == "a: missing key 'says'");
  CHECK(error_of("a: {plan: {tp: 1}, says: so}") == "a: missing key 'needs'");
  CHECK(error_of("[1, 2]") == "expected a map of rules by name");
}

}  // namespace
}  // namespace foretrain
