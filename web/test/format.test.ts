import assert from "node:assert/strict";
import { test } from "node:test";
import { csv } from "../src/text/csv";
import * as format from "../src/text/format";
import { ticks } from "../src/parts/interval";

test("seconds as the command line writes them", () => {
  assert.deepEqual([16.7123, 0.7219, 7.49752, 9.0001, 0.00003, 0, 103.2, 0.9996].map(format.seconds),
    ["16.7 s", "722 ms", "7.5 s", "9 s", "30 µs", "0 s", "103 s", "1 s"]);
});
test("counts, bytes, shares", () => {
  assert.equal(format.count(8741.02), "8.74 k");
  assert.equal(format.count(999.9), "1 k");
  assert.equal(format.count(62800), "62.8 k");
  assert.equal(format.gib(41360717251), "38.5 GiB");
  assert.equal(format.parameters(8030261248), "8.03 B");
  assert.equal(format.percent(0.4549), "45.5 %");
  assert.equal(format.signed_percent(-0.106), "−10.6 %");
  assert.equal(format.duration(1787551), "20.7 days");
  assert.equal(format.duration_range(1613972, 1979798), "18.7 to 22.9 days");
  assert.equal(format.duration_range(100000, 200000), "27.8 h to 2.31 days");
});
test("no chance is said to be certain", () => {
  assert.equal(format.chance(1), "over 99 %");
  assert.equal(format.chance(5e-43), "under 1 %");
  assert.equal(format.chance(0.864), "86 %");
});
test("a table's cells are quoted where they must be", () => {
  assert.equal(csv(["a", "b"], [["x,y", 1], ['"', null], ["l\nm", true]]), 'a,b\n"x,y",1\n"""",\n"l\nm",true\n');
});
test("ticks are round and inside", () => {
  assert.deepEqual(ticks(0, 10), [0, 2.5, 5, 7.5, 10]);
  for (const tick of ticks(6.3, 8.9)) assert.ok(tick >= 6.3 && tick <= 8.9 + 1e-9);
});
