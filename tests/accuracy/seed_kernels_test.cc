// The compute kernels of a transformer layer as they ran inside four measured training runs, against operator
// costs from the shipped profiles: forward, and backward with recomputation. No figure of the program was
// taken from these runs. FORETRAIN_SEED names the folder with measured_runs.json (tests/accuracy/check sets
// it).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <map>
#include <string>

#include "cost/profile_store.h"
#include "operators/product.h"
#include "seed_runs.h"
#include "spec/catalog.h"
#include "workload/testing.h"
#include "workload/workload.h"

using namespace foretrain;

namespace {

// Kernels that belong together: the runs' names for them, and the operators that they are.
std::string group_of_kernel(const std::string& kernel) {
  static const std::map<std::string, std::string> groups = {{"norm_one", "norms"},
                                                            {"qkv_linear", "product qkv"},
                                                            {"projection_linear", "product projection"},
                                                            {"mlp_up_linear", "products mlp"},
                                                            {"mlp_down_linear", "products mlp"},
                                                            {"qk_product", "products of scores"},
                                                            {"pv_product", "products of scores"},
                                                            {"masked_softmax", "softmax"},
                                                            {"flash_causal", "attention"},
                                                            {"bias_gelu_fused", "mlp bias and gelu"},
                                                            {"bias_add", "mlp bias and gelu"},
                                                            {"gelu", "mlp bias and gelu"},
                                                            {"rope", "rope and copies"},
                                                            {"copies", "rope and copies"}};
  if (kernel.starts_with("bias_and_residual_adds")) return "bias and residual adds";
  const auto found = groups.find(kernel);
  return found == groups.end() ? "" : found->second;  // the all-reduce is no compute
}

std::string group_of(const Operator& op, const Model& model, std::int64_t tp) {
  switch (op.kind) {
    case OperatorKind::kLinear:
      if (op.as<LinearSizes>().n == 3 * model.hidden / tp) return "product qkv";
      return op.as<LinearSizes>().k == model.hidden / tp ? "product projection" : "products mlp";
    case OperatorKind::kBatchedProduct:
      return "products of scores";
    case OperatorKind::kSoftmax:
      return "softmax";
    case OperatorKind::kAttention:
      return "attention";
    case OperatorKind::kLayernorm:
    case OperatorKind::kRmsnorm:
      return "norms";
    case OperatorKind::kRope:
    case OperatorKind::kCopy:
      return "rope and copies";
    case OperatorKind::kBiasGelu:
      return "mlp bias and gelu";
    case OperatorKind::kAccumulate:
      return "gradients added";
    default:
      return "bias and residual adds";
  }
}

using Groups = std::map<std::string, double>;  // microseconds

Groups measured_groups(const Json& kernels) {
  Groups groups;
  if (!kernels.contains("forward_kernels_us")) return groups;
  for (const auto& [kernel, us] : kernels.at("forward_kernels_us").items())
    if (const std::string group = group_of_kernel(kernel); !group.empty())
      groups[group] += us.get<double>() * (kernel == "norm_one" ? 2 : 1);
  return groups;
}

Groups predicted_groups(const Pass& pass, const CostSource& costs, const Model& model, std::int64_t tp) {
  Groups groups;
  for (const Repeat& repeat : pass.repeats)
    for (const Task& task : repeat.tasks)
      if (task.kind == Task::Kind::kOperator)
        groups[group_of(task.op, model, tp)] +=
            costs.cost(task.op).gpu.value * 1e6 * static_cast<double>(task.times);
  return groups;
}

double sum_of(const Groups& groups) {
  double us = 0;
  for (const auto& [group, part] : groups) us += part;
  return us;
}

}  // namespace

// The runs list the forward's kernels one by one, the backward's not. Where a kernel's name in the run tells
// what operators it belongs to, both are printed side by side.
TEST_CASE("a layer's compute kernels are within 5 % of those inside the measured runs, both ways") {
  const Catalog catalog;
  const ProfileStore store;
  const Stack neox = catalog.stack("neox").value();
  for (const Json& run : measured_runs()) {
    const Json& kernels = run.at("in_situ_kernels_middle_stage");
    const std::string id = run.at("id"), site = run.at("site");
    const Model model = model_of(run.at("architecture"));
    const Plan plan = plan_of(run);
    const Cluster cluster = catalog.cluster(site).value();
    const auto choice = store.costs_for(cluster, "");
    REQUIRE_MESSAGE(choice.has_value(), (choice ? "" : choice.error().text()));
    const std::int64_t seq = run.at("architecture").at("seq");
    const ChunkWork work =
        build_chunk(model, neox, shape_of(model, plan, neox, seq, true), Chunk{1, false, false});

    // Kernel sums contain the tensor all-reduces: one or two forward, those again and two backward.
    const double reduce = run.at("components_ms_fastest_step").at("tp_allreduce_one").get<double>() * 1e3;
    const double forward_reduces = model.residual == Residual::kParallel ? 1 : 2;
    const auto compare = [&](const std::string& which, const Pass& pass, double measured,
                             const Groups& parts) {
      const Groups predicted = predicted_groups(pass, *choice->costs, model, plan.tp);
      const double us = sum_of(predicted);
      std::cout << fmt::format(
          "{} {}, profile {}: predicted {:.0f} us, measured {:.0f} us, error {:+.1f} %\n", id, which,
          choice->profile, us, measured, 100 * (us / measured - 1));
      for (const auto& [group, part] : predicted) {
        std::cout << fmt::format("    {:<24}{:>8.0f}", group, part);
        if (const auto found = parts.find(group); found != parts.end())
          std::cout << fmt::format("{:>8.0f}  {:+.1f} %", found->second, 100 * (part / found->second - 1));
        std::cout << "\n";
      }
      CAPTURE(id);
      CAPTURE(which);
      CHECK(std::abs(us / measured - 1) <= 0.05);
    };
    compare("forward", work.forward,
            kernels.at("layer_forward_kernel_sum_us").get<double>() - forward_reduces * reduce,
            measured_groups(kernels));
    if (!kernels.contains("layer_backward_kernel_sum_us")) continue;
    const double gather = kernels.value("activation_gather_in_backward_us", 0.0);
    compare(
        "backward", work.backward,
        kernels.at("layer_backward_kernel_sum_us").get<double>() - (forward_reduces + 2) * reduce - gather,
        {});
  }
}
