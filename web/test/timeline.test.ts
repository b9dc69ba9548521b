import assert from "node:assert/strict";
import { test } from "node:test";
import type { Timeline } from "../src/views/timeline/answer";
import { draw_row } from "../src/views/timeline/draw_bars";
import { tick_texts } from "../src/views/timeline/draw_marks";
import { layout_of } from "../src/views/timeline/layout";
import { bar_at, first_after, scene_of, type Row } from "../src/views/timeline/scene";
import { kept_inside, panned, window_of, window_text, zoomed } from "../src/views/timeline/window";

const small: Timeline = {
  step_ns: 100, stages: 2, shown: [0, 1], note: "", kinds: ["forward", "backward"], lanes: ["passes"], waits: ["wait for gradient"],
  events: { stage: [0, 0, 1], lane: [0, 0, 0], kind: [1, 0, 0], micro_batch: [0, 0, 0], piece: [-1, -1, -1], from_ns: [60, 0, 20], to_ns: [100, 20, 60], other_stage: [-1, -1, -1] },
  idle: { stage: [0], wait: [0], from_ns: [20], to_ns: [60] },
  path: { event: [1], stage: [0], from_ns: [0], to_ns: [20] },
  memory: [], pieces: [],
};

test("a row's bars are in order of time, and what is under a hand is found", () => {
  const row = scene_of(small).rows[1];
  assert.deepEqual([...row.from], [0, 20, 60]);
  assert.equal(row.item[bar_at(row, 70)], 0);
  assert.equal(row.item[bar_at(row, 30)], -1);
  assert.equal(bar_at(row, 101), -1);
});
test("ticks have the places that their distance needs, and no more", () => {
  assert.deepEqual(tick_texts([0, 0.25e9, 0.5e9, 1.25e9], 2.3e9), ["0.00 s", "0.25 s", "0.50 s", "1.25 s"]);
  assert.deepEqual(tick_texts([0, 5e9, 10e9], 12e9), ["0 s", "5 s", "10 s"]);
  assert.deepEqual(tick_texts([1.2e6, 1.4e6], 0.5e6), ["1.2 ms", "1.4 ms"]);
  assert.deepEqual(tick_texts([2_500, 5_000], 8e3), ["2.5 µs", "5.0 µs"]);
});
test("a hundred thousand bars are drawn in milliseconds, each pixel once", () => {
  const n = 100_000;
  const row: Row = {
    kind: "passes", place: 0, from: Float64Array.from({ length: n }, (_, i) => i * 10), to: Float64Array.from({ length: n }, (_, i) => i * 10 + 10),
    tone: Uint8Array.from({ length: n }, (_, i) => i % 2), item: new Int32Array(n),
  };
  const layout = layout_of(1200, 1, false);
  const surface = { pixels: new Uint32Array(1200 * layout.height), width: 1200, scale: 1 };
  const taken = Array.from({ length: 20 }, () => {
    const begun = performance.now();
    draw_row(surface, row, layout, { from: 0, to: n * 10 }, new Uint32Array([1, 2]));
    return performance.now() - begun;
  });
  // A frame is 16 ms. The fastest: what drawing takes by itself, whoever else uses the machine.
  const each = Math.min(...taken);
  assert.ok(each < 16, `${each.toFixed(1)} ms`);
  const drawn = surface.pixels.subarray(30 * 1200 + 58, 31 * 1200);
  assert.ok(drawn.every((pixel) => pixel !== 0));
  assert.equal(first_after(row, 500_000), 50_000);
});
test("the window stays inside the step", () => {
  assert.deepEqual(kept_inside({ from: -50, to: 950 }, 10_000), { from: 0, to: 1000 });
  assert.deepEqual(panned({ from: 0, to: 1000 }, 100, 10_000), { from: 9000, to: 10_000 });
  assert.deepEqual(zoomed({ from: 0, to: 10_000 }, 0.5, 0.5, 10_000), { from: 2500, to: 7500 });
  assert.deepEqual(zoomed({ from: 2500, to: 7500 }, 100, 0.5, 10_000), { from: 0, to: 10_000 });
});
test("the window in a link comes back, and nonsense shows all", () => {
  const seen = { from: 1_250_500, to: 3_000_000 };
  assert.deepEqual(window_of(window_text(seen), 1e9), seen);
  for (const text of ["", "5-3", "a-b", "-1-2"]) assert.deepEqual(window_of(text, 7000), { from: 0, to: 7000 });
});
