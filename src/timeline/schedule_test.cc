#include "timeline/schedule.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "timeline/testing.h"

namespace foretrain {
namespace {

std::string order(ScheduleKind kind, std::int64_t rank, std::int64_t ranks, std::int64_t micro_batches,
                  std::int64_t vpp = 1) {
  Orders orders;
  write_orders(kind, shape_of(kind, ranks, vpp, micro_batches), orders);
  return to_text(orders.expanded(rank));
}

TEST_CASE("gpipe runs all forwards, then all backwards, on every rank") {
  CHECK(order(ScheduleKind::kGpipe, 0, 3, 3) == "F0 F1 F2 B0 B1 B2");
  CHECK(order(ScheduleKind::kGpipe, 2, 3, 3) == "F0 F1 F2 B0 B1 B2");
}

TEST_CASE("1f1b warms up with p - 1 - r forwards, then takes turns") {
  CHECK(order(ScheduleKind::k1f1b, 0, 3, 4) == "F0 F1 F2 B0 F3 B1 B2 B3");
  CHECK(order(ScheduleKind::k1f1b, 1, 3, 4) == "F0 F1 B0 F2 B1 F3 B2 B3");
  CHECK(order(ScheduleKind::k1f1b, 2, 3, 4) == "F0 B0 F1 B1 F2 B2 F3 B3");
}

TEST_CASE("1f1b with fewer micro-batches than ranks is gpipe on the first ones") {
  CHECK(order(ScheduleKind::k1f1b, 0, 4, 2) == "F0 F1 B0 B1");
  CHECK(order(ScheduleKind::k1f1b, 2, 4, 2) == "F0 F1 B0 B1");
  CHECK(order(ScheduleKind::k1f1b, 3, 4, 2) == "F0 B0 F1 B1");
  CHECK(order(ScheduleKind::k1f1b, 0, 1, 1) == "F0 B0");
}

TEST_CASE("interleaved takes groups of p micro-batches through its chunks in turn") {
  // The picture of schedule_interleaved.cc.
  CHECK(order(ScheduleKind::kInterleaved, 0, 2, 4, 2) ==
        "F0 F1 F0.1 F1.1 F2 B0.1 F3 B1.1 F2.1 B0 F3.1 B1 B2.1 B3.1 B2 B3");
  CHECK(order(ScheduleKind::kInterleaved, 1, 2, 4, 2) ==
        "F0 F1 F0.1 B0.1 F1.1 B1.1 F2 B0 F3 B1 F2.1 B2.1 F3.1 B3.1 B2 B3");
}

TEST_CASE("zb-h1 puts the weights off by p - 1 micro-batches on every rank") {
  CHECK(order(ScheduleKind::kZbH1, 0, 3, 4) == "F0 F1 F2 B0 W0 F3 B1 W1 B2 W2 B3 W3");
  CHECK(order(ScheduleKind::kZbH1, 1, 3, 4) == "F0 F1 B0 F2 B1 W0 F3 B2 W1 B3 W2 W3");
  CHECK(order(ScheduleKind::kZbH1, 2, 3, 4) == "F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3");
}

TEST_CASE("zb-h2 warms up twice as long") {
  CHECK(order(ScheduleKind::kZbH2, 0, 3, 6) == "F0 F1 F2 F3 F4 B0 W0 F5 B1 W1 B2 W2 B3 W3 B4 W4 B5 W5");
  CHECK(order(ScheduleKind::kZbH2, 2, 3, 6) == "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 W0 F5 B5 W1 W2 W3 W4 W5");
}

TEST_CASE("zbv goes down through chunk 0 and comes back through chunk 1") {
  CHECK(order(ScheduleKind::kZbv, 0, 2, 4) ==
        "F0 F1 F2 F0.1 B0.1 W0.1 F1.1 B1.1 W1.1 F3 B0 W0 F2.1 B2.1 W2.1 B1 W1 F3.1 B3.1 W3.1 B2 W2 B3 W3");
  CHECK(order(ScheduleKind::kZbv, 1, 2, 4) ==
        "F0 F0.1 F1 F1.1 B0.1 W0.1 F2 B0 W0 F2.1 B1.1 W1.1 F3 B1 W1 F3.1 B2.1 W2.1 B2 B3.1 B3 W2 W3.1 W3");
}

TEST_CASE("zbv with few micro-batches leaves out those that are not there") {
  CHECK(order(ScheduleKind::kZbv, 0, 2, 1) == "F0 F0.1 B0.1 W0.1 B0 W0");
  CHECK(order(ScheduleKind::kZbv, 1, 2, 1) == "F0 F0.1 B0.1 W0.1 B0 W0");
}

TEST_CASE("dualpipe's ranks are mirror images, and dualpipev is one half of them") {
  const std::string near = order(ScheduleKind::kDualpipe, 0, 4, 8);
  CHECK(near == "F0 F1 F2 F0.1 B0.1 W0.1 F1.1 F3+ BW1.1 F2.1+ BW0 BW2.1 F3.1+ BW1 BW3.1 B2 W2 B3 W3");
  for (std::int64_t m : {4, 5, 9})
    for (std::int64_t r = 0; r < 2; ++r)
      CHECK(order(ScheduleKind::kDualpipev, r, 2, m) == order(ScheduleKind::kDualpipe, r, 4, 2 * m));
  // Rank 3 runs what rank 0 does, with the directions exchanged.
  Orders orders;
  write_orders(ScheduleKind::kDualpipe, shape_of(ScheduleKind::kDualpipe, 4, 1, 8), orders);
  std::vector<OrderedPass> far = orders.expanded(3);
  for (OrderedPass& pass : far) pass.chunk ^= 1;
  CHECK(far == orders.expanded(0));
}

TEST_CASE("every order holds each micro-batch once forward and once backward") {
  for (int k = 0; k < kScheduleCount; ++k) {
    const auto kind = static_cast<ScheduleKind>(k);
    for (std::int64_t p = 2; p <= 7; ++p) {
      for (std::int64_t m = 1; m <= 40; ++m) {
        for (const std::int64_t vpp : {1, 2, 3}) {
          if (refusal(kind, p, vpp, m) || (vpp == 1 && kind == ScheduleKind::kInterleaved)) continue;
          const PipelineShape shape = shape_of(kind, p, vpp, m);
          Orders orders;
          write_orders(kind, shape, orders);
          CHECK(miscounted(orders, shape).value_or("") == "");
        }
      }
    }
  }
}

TEST_CASE("each piece lies on one rank as one chunk") {
  for (int k = 0; k < kScheduleCount; ++k) {
    const auto kind = static_cast<ScheduleKind>(k);
    const Pipeline pipeline{kind, 4, chunks_per_rank(kind, 3)};
    for (std::int64_t n = 0; n < pipeline.pieces(); ++n) {
      CHECK(pipeline.piece(pipeline.rank(n), pipeline.chunk(n)) == n);
      // Neighbours in the model are neighbours in the pipeline, the last rank's beside the first's or itself.
      if (pipeline.last(n)) continue;
      const std::int64_t from = pipeline.rank(n), to = pipeline.rank(n + 1);
      CHECK(std::abs(to - from) <= (kind == ScheduleKind::kInterleaved ? 3 : 1));
    }
    CHECK(pipeline.first(0));
    CHECK(pipeline.last(pipeline.pieces() - 1));
  }
}

TEST_CASE("orders that lack a pass, or have it too early, are named") {
  const PipelineShape shape{1, 1, 2};
  const auto wrong = [&](std::initializer_list<OrderedPass> passes) {
    Orders orders;
    orders.next_rank();
    for (const OrderedPass& pass : passes) orders.add(pass);
    return miscounted(orders, shape).value_or("");
  };
  const OrderedPass f{PassKind::kForward}, bw{PassKind::kBackward}, b{PassKind::kInput}, w{PassKind::kWeight};
  CHECK(wrong({f, bw, f, bw}) == "");
  CHECK(wrong({f, b, f, bw, w}) == "");
  CHECK(wrong({f, bw, f}) == "rank 0, chunk 0: 2 F, 1 B, 0 halves and 0 W of 2 micro-batches");
  CHECK(wrong({f, b, f, bw}) == "rank 0, chunk 0: 2 F, 2 B, 1 halves and 0 W of 2 micro-batches");
  CHECK(wrong({f, w, b, f, bw}) == "rank 0 runs W of chunk 0 before its B");
  CHECK(wrong({f, bw, bw, {PassKind::kForward, true}}) == "rank 0 pairs pass 3 with no backward");
  CHECK(wrong({{PassKind::kForward, false, 1}}) == "rank 0 has no chunk 1");
}

}  // namespace
}  // namespace foretrain
