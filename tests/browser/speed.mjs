// How soon the page answers: measured in the page, from the change to the frame that shows its numbers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { done, open, open_at, until } from "./pages.mjs";
import { PATIENCE, READY } from "./questions.mjs";

const MOST_MS = 50;
const FIRST_VIEW_BYTES = 250 * 1024;

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const measures = (page, name) => page.evaluate((wanted) => performance.getEntriesByName(wanted, "measure").map((m) => m.duration), name);

test("a change of tp shows its numbers in under 50 ms", async (t) => {
  const page = await open("run");
  await page.evaluate(() => performance.clearMeasures());
  await page.focus("#plan-tp");
  for (let i = 0; i < 24; i++) {
    await page.keyboard.press(Math.floor(i / 4) % 2 === 0 ? "ArrowRight" : "ArrowLeft");
    await until(page, (n) => performance.getEntriesByName("change to answer", "measure").length > n, i);
  }
  const taken = await measures(page, "change to answer");
  t.diagnostic(`change to answer: median ${median(taken).toFixed(1)} ms, most ${Math.max(...taken).toFixed(1)} ms of ${taken.length}`);
  // The median: a machine that others use too has its pauses.
  assert.ok(median(taken) < MOST_MS, `${median(taken)} ms`);
  await done(page);
});

test("a hundred thousand bars are drawn as they are dragged", async (t) => {
  const page = await open_at("#timeline?model=llama-3-70b&cluster=dgx-h100&gpus=256&global_batch=2048&stack=megatron&plan=tp=4,pp=16,dp=4,zero=1&seq=2048");
  await page.waitForSelector(READY.timeline, PATIENCE);
  await page.evaluate(() => performance.clearMeasures());
  await page.focus(".timeline canvas");
  for (const key of ["+", "+", "PageDown", "+", "PageUp", "-", "-", "0"]) await page.keyboard.press(key);
  const taken = await measures(page, "timeline drawn");
  const note = await page.locator(".block .note").first().textContent();
  t.diagnostic(`${note.split(".")[0]}; ${/[\d,]+ bars/.exec(note)}: a frame is drawn in ${median(taken).toFixed(1)} ms, most ${Math.max(...taken).toFixed(1)} ms`);
  assert.ok(Number(/([\d,]+) bars/.exec(note)[1].replace(/,/g, "")) > 30_000);
  assert.ok(median(taken) < MOST_MS, `${median(taken)} ms`);
  await done(page);
});

test("the first view is small and soon there", async (t) => {
  const page = await open_at("");
  await page.waitForSelector(READY.run, PATIENCE);
  const { bytes, first } = await page.evaluate(() => ({
    bytes: performance.getEntriesByType("resource").concat(performance.getEntriesByType("navigation")).reduce((sum, r) => sum + r.encodedBodySize, 0),
    first: performance.getEntriesByName("answer")[0].startTime,
  }));
  t.diagnostic(`the first view: ${(bytes / 1024).toFixed(0)} KiB over the wire, its answer after ${first.toFixed(0)} ms`);
  assert.ok(bytes > 0 && bytes < FIRST_VIEW_BYTES, `${bytes}`);
  await done(page);
});
