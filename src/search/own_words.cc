#include "search/own_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/field_mark.h"
#include "job/graph_check.h"
#include "job/precision.h"
#include "spec/plan_fields.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

using Values = std::vector<Value>;

// The stack's words for recipes: names, then families, of which the first recipe is meant.
std::string_view precision_word(const Stack& stack, Value value) {
  const auto n = static_cast<std::size_t>(value), recipes = stack.recipes.size();
  return n < recipes ? std::string_view(stack.recipes[n].name) : name(stack.recipes[n - recipes].family);
}

Value value_of_precision(const Stack& stack, std::string_view word) {
  for (Value k = 0; k < static_cast<Value>(2 * stack.recipes.size()); ++k)
    if (precision_word(stack, k) == word) return k;
  return kUnset;
}

Result<void> check_recipe(const Problem& problem, std::string_view word) {
  Run run = run_without_plan(problem);
  run.plan.precision = word;
  return check_precision(run);
}

void plain_precision(const Problem&, const Candidate&, Values& out) { out.push_back(kUnset); }

void all_precisions(const Problem& problem, const Candidate&, Values& out) {
  for (Value k = 0; k < static_cast<Value>(2 * problem.stack.recipes.size()); ++k) out.push_back(k);
}

Result<Value> read_precision(Problem& problem, std::string_view word) {
  TRY(check_recipe(problem, word));
  return value_of_precision(problem.stack, word);
}

// Names of recipes that the GPU can run beside the plain one.
std::optional<LeftOut> other_precisions(const Problem& problem) {
  std::vector<std::string_view> others;
  for (const Recipe& recipe : problem.stack.recipes)
    if (recipe.formats.is_narrow() && check_recipe(problem, recipe.name)) others.push_back(recipe.name);
  if (others.empty()) return std::nullopt;
  const std::string& plain = problem.given.precision;
  return LeftOut{
      fmt::format("precision other than {}", plain),
      fmt::format("it changes the training itself; {} precision={},{} brings in what the stack runs: {}",
                  marked("set"), plain, others.front(), fmt::join(others, ", "))};
}

void plain_graph(const Problem&, const Candidate&, Values& out) { out.push_back(kUnset); }

void all_graphs(const Problem& problem, const Candidate&, Values& out) {
  const unsigned offers = problem.stack.cuda_graphs.offers.bits;
  for (unsigned bits = 0; bits <= offers; ++bits)
    if ((bits & ~offers) == 0) out.push_back(bits);
}

Result<Value> read_graph(Problem& problem, std::string_view word) {
  Run run = run_without_plan(problem);
  TRY_ASSIGN(run.plan, parse_plan(fmt::format("{}={}", plan_field<&Plan::cuda_graph>.key, word)));
  if (auto reason = uncaptured(run.stack, *run.plan.cuda_graph)) return fail(*std::move(reason));
  return run.plan.cuda_graph->bits;
}

std::string graph_text(GraphModules modules) {
  Plan plan;
  plan.cuda_graph = modules;
  const std::string text = to_text(plan);
  return text.substr(text.find('=') + 1);
}

std::optional<LeftOut> other_graphs(const Problem& problem) {
  const Stack::CudaGraphs& graphs = problem.stack.cuda_graphs;
  if (graphs.offers.empty()) return std::nullopt;
  const std::string plain = graph_text(graphs.scope);
  std::vector<std::string_view> others;
  for (std::size_t i = 0; i < kGraphModuleNames.size(); ++i)
    if (graphs.offers.has(static_cast<GraphModule>(i)) && kGraphModuleNames[i] != plain)
      others.push_back(kGraphModuleNames[i]);
  if (others.empty()) return std::nullopt;
  return LeftOut{
      fmt::format("cuda_graph other than {}", plain),
      fmt::format("the stack's own is taken; {} cuda_graph={},{} brings in what it can capture: {}",
                  marked("set"), plain, others.back(), fmt::join(others, ", "))};
}

}  // namespace

Dimension precision_dimension() {
  Dimension d{plan_field<&Plan::precision>.key, {}, Scope::kAllowed, false, plain_precision};
  d.put = [](const Problem& problem, Candidate& c, Value value) {
    c.plan.precision =
        value == kUnset ? std::string_view(problem.given.precision) : precision_word(problem.stack, value);
  };
  d.get = [](const Problem& problem, const Candidate& c) {
    return value_of_precision(problem.stack, c.plan.precision);
  };
  d.asked = all_precisions;
  d.read = read_precision;
  d.text = [](const Candidate& c) { return c.plan.precision; };
  d.others = other_precisions;
  return d;
}

Dimension graph_dimension() {
  Dimension d{plan_field<&Plan::cuda_graph>.key, {}, Scope::kAllowed, false, plain_graph};
  d.put = [](const Problem& problem, Candidate& c, Value value) {
    c.plan.cuda_graph =
        value == kUnset ? problem.given.cuda_graph : GraphModules{static_cast<std::uint8_t>(value)};
  };
  d.get = [](const Problem&, const Candidate& c) {
    return c.plan.cuda_graph ? static_cast<Value>(c.plan.cuda_graph->bits) : kUnset;
  };
  d.asked = all_graphs;
  d.read = read_graph;
  d.text = [](const Candidate& c) {
    return c.plan.cuda_graph ? graph_text(*c.plan.cuda_graph) : std::string("unset");
  };
  d.others = other_graphs;
  return d;
}

}  // namespace foretrain
