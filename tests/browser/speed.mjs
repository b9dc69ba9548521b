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

test("a hundred thousand bars are drawn as they are zoomed, dragged and looked at", async (t) => {
  const page = await open_at("#timeline?model=llama-3-70b&cluster=dgx-h100&gpus=256&global_batch=8192&stack=megatron&plan=tp=4,pp=16,dp=4,zero=1&seq=2048");
  await page.waitForSelector(READY.timeline, PATIENCE);
  const note = await page.locator(".block .note").first().textContent();
  const bars = Number(/([\d,]+) bars/.exec(note)[1].replace(/,/g, ""));
  assert.ok(bars >= 100_000, note);
  const drawn = async (what, act) => {
    await page.evaluate(() => performance.clearMeasures("timeline drawn"));
    await act();
    await page.evaluate(() => new Promise((frame) => requestAnimationFrame(() => requestAnimationFrame(frame))));
    const taken = await measures(page, "timeline drawn");
    t.diagnostic(`${bars} bars, ${what}: a frame is drawn in ${median(taken).toFixed(1)} ms, most ${Math.max(...taken).toFixed(1)} ms of ${taken.length}`);
    assert.ok(taken.length >= 5, `${what}: ${taken.length} frames`);
    // The fastest: what drawing takes by itself. A machine that others use too has its pauses, and the median tells of these.
    assert.ok(Math.min(...taken) < MOST_MS, `${what}: ${Math.min(...taken)} ms`);
  };
  await page.focus(".timeline canvas");
  await drawn("zoomed", async () => {
    for (const key of ["+", "+", "PageDown", "+", "PageUp", "-", "-", "0"]) await page.keyboard.press(key);
  });
  await page.locator(".timeline canvas").scrollIntoViewIfNeeded();
  const { x, y: top, width } = await page.locator(".timeline canvas").boundingBox();
  let y = Math.max(top, 0) + 20;  // of the first row of passes that is in sight
  const said = () => page.textContent("#timeline-told");
  for (; y < 800 && !/forward|backward/.test(await said()); y += 4) await page.mouse.move(x + width * 0.5, y);
  // Another bar under the pointer is a mark over the drawing, which stays as it is.
  const told = new Set();
  await page.evaluate(() => performance.clearMeasures("timeline drawn"));
  for (let i = 1; i <= 20; i++) {
    await page.mouse.move(x + width * (0.1 + 0.04 * i), y);
    await page.evaluate(() => new Promise((frame) => requestAnimationFrame(frame)));
    told.add(await said());
  }
  assert.ok(told.size > 10, [...told].join(" | "));
  assert.equal(await page.locator(".chosen-bar").count(), 1);
  assert.equal((await measures(page, "timeline drawn")).length, 0);
  for (let i = 0; i < 4; i++) await page.keyboard.press("+");
  const before = await page.evaluate(() => location.hash);
  await drawn("dragged", async () => {
    await page.mouse.move(x + width * 0.6, y);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.3, y, { steps: 12 });
    await page.mouse.up();
  });
  await until(page, (hash) => location.hash !== hash, before);
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
