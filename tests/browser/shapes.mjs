// From a telephone to a wall, in light and in dark: nothing sticks out, and what lies beside what follows the width.
import assert from "node:assert/strict";
import { test } from "node:test";
import { done, open } from "./pages.mjs";
import { VIEWS } from "./questions.mjs";

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
    const [panel, answer] = [await box(page, ".panel"), await box(page, "main")];
    assert.equal(answer.x >= panel.x + panel.width, beside);
    assert.equal(answer.y >= panel.y + panel.height, !beside);
    await done(page);
  }
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
