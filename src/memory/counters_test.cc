#include "memory/counters.h"

#include <doctest/doctest.h>

using namespace foretrain;

namespace {

MemoryCounters counted(const StateBytes& states, Bytes passes, const Stack& stack,
                       std::int64_t micro_batches = 2, Bytes largest_block = Bytes(1e9),
                       Bytes largest_gradient = Bytes(0)) {
  return memory_counters(states, {passes, largest_block}, largest_gradient, stack, micro_batches, Bytes(7));
}

}  // namespace

TEST_CASE("Gradients that come while the backward runs are part of its peak, and leave no holes") {
  StateBytes states;
  states.weights = Bytes(100), states.gradients = Bytes(100), states.optimizer = Bytes(200);
  Stack lazy;
  lazy.states.lazy_gradients = true;
  const auto counters = [&](double peak, double gradients) {
    const PassesPeak passes{Bytes(peak), Bytes(0), Bytes(gradients)};
    return memory_counters(states, passes, Bytes(0), lazy, 1, Bytes(0));
  };
  CHECK(counters(50, 0).allocated == Bytes(400));
  CHECK(counters(150, 0).allocated == Bytes(450));
  CHECK(counters(150, 100).allocated == Bytes(450));
  CHECK(counters(150, 0).reserved == Bytes(300 + 150 * (1 + kFragmentation)));
  CHECK(counters(150, 100).reserved == Bytes(300 + 150 + 50 * kFragmentation));
}

TEST_CASE("Allocated is the larger of the passes' peak and the step's") {
  const StateBytes states{
      .weights = Bytes(20), .gradients = Bytes(20), .optimizer = Bytes(120), .step_copy = Bytes(40)};
  CHECK(counted(states, Bytes(100), Stack{}).allocated == Bytes(260));
  CHECK(counted(states, Bytes(10), Stack{}).allocated == Bytes(200));
}

TEST_CASE("Gradients that are freed after each step are not there when its only backward begins") {
  const StateBytes states{.weights = Bytes(20), .gradients = Bytes(10), .optimizer = Bytes(40)};
  Stack lazy;
  lazy.states.lazy_gradients = true;
  CHECK(counted(states, Bytes(100), lazy, 1).allocated == Bytes(160));
  CHECK(counted(states, Bytes(5), lazy, 1).allocated == Bytes(70));  // at the step's end: all states
  CHECK(counted(states, Bytes(100), lazy, 2).allocated ==
        Bytes(170));  // kept from one micro-batch to the next
  CHECK(counted(states, Bytes(100), Stack{}, 1).allocated == Bytes(170));
}

TEST_CASE("Reserved adds what no cached block can serve; what must fit does not") {
  const StateBytes states{.weights = Bytes(20),
                          .gradients = Bytes(10),
                          .optimizer = Bytes(40),
                          .gather_copies = Bytes(40),
                          .gather_block = Bytes(20),
                          .gather_pieces = Bytes(5)};
  const double passes = 100 * (1 + kFragmentation);
  const auto reserved = [&](double largest) {
    return counted(states, Bytes(100), Stack{}, 2, Bytes(largest)).reserved.value;
  };
  CHECK(reserved(50) == doctest::Approx(70 + passes));
  CHECK(reserved(19) == doctest::Approx(70 + passes + 20));  // the whole weights in one block
  CHECK(reserved(4) == doctest::Approx(70 + passes + 40));   // and the other copy's pieces
  CHECK(counted(states, Bytes(100), Stack{}, 2, Bytes(4)).needed.value == doctest::Approx(70 + passes + 7));
  CHECK(counted(states, Bytes(1), Stack{}, 2, Bytes(4)).needed ==
        Bytes(70 + 40 + 7));  // the step's are enough
  Stack autograd;
  autograd.gradients.autograd_copies = true;
  CHECK(counted(states, Bytes(100), autograd, 2, Bytes(50), Bytes(60)).reserved.value ==
        doctest::Approx(70 + passes + 60));  // an embedding's gradient
}

TEST_CASE("nvidia-smi counts context and communicators too") {
  CHECK(communicators(Mesh{}) == 0);
  CHECK(outside_torch(Mesh{}) == gib(kContextGib));
  const Mesh mesh{.tp = 2, .dp = 2, .pp = 2};
  CHECK(communicators(mesh) == 4);
  CHECK(outside_torch(mesh).value == doctest::Approx(gib(kContextGib + 4 * kCommunicatorGib).value));
  const MemoryCounters c = counted({.weights = Bytes(1)}, Bytes(10), Stack{});
  CHECK(c.total.value == doctest::Approx(c.reserved.value + 7));
}

TEST_CASE("What graphs hold cannot be lent to the optimizer's step") {
  const StateBytes states{.weights = Bytes(100), .step_copy = Bytes(40)};
  const auto counters = [&](double in_graphs) {
    return memory_counters(states, {Bytes(200), Bytes(1e9), Bytes(0), Bytes(in_graphs)}, Bytes(0), Stack{}, 2,
                           Bytes(7));
  };
  const double passes = 200 * (1 + kFragmentation);
  CHECK(counters(0).needed == Bytes(100 + passes + 7));
  CHECK(counters(200).needed == Bytes(100 + passes + 40 + 7));
  CHECK(counters(200).reserved == Bytes(100 + passes + 40));
  CHECK(counters(200).allocated == counters(0).allocated);
  // Small ones leave room enough; larger ones less than the step needs: what graphs hold and the copy on top.
  CHECK(counters(20).needed == counters(0).needed);
  CHECK(counters(180).needed == Bytes(100 + 0.9 * passes + 40 + 7));
}
