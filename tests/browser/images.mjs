// Pictures of the views for the documents, each under 150 KB.
import assert from "node:assert/strict";
import { mkdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { done, open, until } from "./pages.mjs";
import { VIEWS } from "./questions.mjs";

const FOLDER = fileURLToPath(new URL("../../docs/images/", import.meta.url));
const MOST_BYTES = 150 * 1024;
// View, file, height, dark, width.
const PICTURES = [
  ["run", "run", 800], ["run", "run-dark", 800, true], ["run", "run-narrow", 860, false, 400], ["timeline", "timeline", 860],
  ["search", "search", 780], ["sweep", "sweep", 800], ["compare", "compare", 700], ["scoreboard", "scoreboard-own", 900], ["published", "scoreboard", 620],
];

// The golden table has a name that tests how names are written; no picture needs it.
VIEWS.scoreboard = VIEWS.scoreboard.replaceAll(encodeURIComponent("<i>theirs</i>"), "theirs");

for (const [view, name, height, dark = false, width = 1200] of PICTURES)
  test(`picture of ${name}`, async () => {
    mkdirSync(FOLDER, { recursive: true });
    const page = await open(view, { width, height, dark });
    await until(page, () => document.fonts.status === "loaded" && !document.querySelector("[aria-busy=true]"));
    if (view === "timeline") {
      await page.focus(".timeline canvas");
      await page.keyboard.press("ArrowRight");
    }
    const path = `${FOLDER}${name}.png`;
    await page.screenshot({ path });
    assert.ok(statSync(path).size < MOST_BYTES, `${name} has ${statSync(path).size} bytes`);
    await done(page);
  });
