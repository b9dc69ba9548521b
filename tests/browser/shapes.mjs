// From a telephone to a wall, in light and in dark: nothing sticks out, and what lies beside what follows the width.
import assert from "node:assert/strict";
import { test } from "node:test";
import { done, open, open_at, until } from "./pages.mjs";
import { PATIENCE, VIEWS } from "./questions.mjs";

const box = (page, selector) => page.locator(selector).first().boundingBox();

for (const [name, width, height] of [["narrow", 400, 800], ["4K", 3840, 2160]])
  test(`${name}: no view sticks out of ${width} pixels`, async () => {
    for (const view of Object.keys(VIEWS)) {
      const page = await open(view, { width, height });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${view} is ${wide} wide`);
      await done(page);
    }
  });

test("the question is above the answer where there is no room beside it", async () => {
  for (const [width, beside] of [[400, false], [1440, true], [3840, true]]) {
    const page = await open("run", { width, height: 900 });
    const [panel, answer] = [await box(page, ".folded, .panel"), await box(page, "main")];
    assert.equal(answer.x >= panel.x + panel.width, beside);
    assert.equal(answer.y >= panel.y + panel.height, !beside);
    await done(page);
  }
});

test("where there is no room the question is a line once it has its answer, and opens where it is wrong", async () => {
  const page = await open("run", { width: 400, height: 800 });
  assert.equal(await page.locator("#field-gpus").isVisible(), false);
  assert.match(await page.textContent(".folded summary"), /llama-3-8b, 64 × h100-80gb-sxm, tp=2,pp=4,zero=1/);
  assert.ok((await box(page, "[data-testid=step]")).y < 400);  // the answer is what one sees first
  await page.focus(".folded summary");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#field-gpus", PATIENCE);
  await page.fill("#field-gpus", "x");
  await page.press("#field-gpus", "Enter");
  await page.waitForSelector("#field-gpus-error:not([hidden])", PATIENCE);
  await page.fill("#field-gpus", "32");
  await page.press("#field-gpus", "Enter");
  await until(page, () => document.querySelector(".folded summary").textContent.includes("32 ×"));
  assert.equal(await page.locator("#field-gpus").isVisible(), true);  // it does not fold under the hand
  await page.focus(".folded summary");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#field-gpus", { state: "hidden", ...PATIENCE });
  const wrong = await open_at("#run?model=llama-3-8b&cluster=dgx-h100&gpus=x", { width: 400, height: 800 });
  await wrong.waitForSelector("#field-gpus-error:not([hidden])", PATIENCE);
  assert.equal(await wrong.locator("#field-gpus").isVisible(), true);
  await done(wrong);
  await done(page);
});

test("blocks lie in more columns where there is room", async () => {
  const columns = async (width) => {
    const page = await open("run", { width, height: 900 });
    const lefts = await page.locator(".block:not(.wide)").evaluateAll((all) => new Set(all.map((b) => Math.round(b.getBoundingClientRect().left))).size);
    await done(page);
    return lefts;
  };
  assert.equal(await columns(400), 1);
  assert.equal(await columns(1440), 2);
  assert.ok((await columns(3840)) >= 3);
});

test("dark by the system, and by the button against it", async () => {
  const page = await open("run", { dark: true });
  const light_of = () => page.evaluate(() => {
    const [r, g, b] = getComputedStyle(document.documentElement).backgroundColor.match(/\d+/g).map(Number);
    return r + g + b;
  });
  assert.ok((await light_of()) < 150);
  await page.getByRole("button", { name: /^colours: system/ }).click();
  assert.ok((await light_of()) > 600);
  await page.getByRole("button", { name: /^colours: light/ }).click();
  await page.emulateMedia({ colorScheme: "light" });
  assert.ok((await light_of()) < 150);
  await page.reload();
  assert.ok((await light_of()) < 150, "it is kept");
  await page.evaluate(() => localStorage.clear());
  await done(page);
});
