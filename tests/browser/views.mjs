// Each view: its answer, its ways out, and nothing that axe-core finds wrong, in light and in dark.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { done, open } from "./pages.mjs";
import { AXE } from "./session.mjs";
import { VIEWS } from "./questions.mjs";

const axe = readFileSync(AXE, "utf8");

async function found_wrong(page) {
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return violations.map((v) => `${v.id}: ${v.nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
}

for (const view of Object.keys(VIEWS)) {
  test(`${view}: has its answer and its ways out`, async () => {
    const page = await open(view);
    const blocks = await page.locator(".block").all();
    assert.ok(blocks.length >= 2);
    for (const block of blocks) {
      assert.notEqual(await block.locator("h2").textContent(), "");
      assert.ok((await block.locator(".ways-out button").count()) >= 1);
    }
    assert.equal(await page.locator("nav a[aria-current=page]").count(), 1);
    await done(page);
  });
  test(`${view}: axe-core finds nothing wrong`, async () => {
    const page = await open(view);
    await page.evaluate(axe);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      assert.deepEqual(await found_wrong(page), [], colorScheme);
    }
    await done(page);
  });
}
