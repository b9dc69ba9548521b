// What leaves the page: commands that give the same numbers in a shell, tables, pictures.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { done, open, step_of } from "./pages.mjs";
import { PATIENCE, VIEWS } from "./questions.mjs";

const program = resolve(process.env.FORETRAIN ?? "build/release/foretrain");
const PNG = "89504e470d0a1a0a";

async function copied(page, name) {
  await page.getByRole("button", { name }).click();
  return page.evaluate(() => navigator.clipboard.readText());
}
// Headless Chromium now and then drops one of many downloads in a row without a word: who asks for it again gets it.
async function saved(page, name, tries = 3) {
  const button = page.getByRole("button", { name, exact: true });
  const asked = Promise.all([page.waitForEvent("download", { timeout: PATIENCE.timeout / 2 }), button.click()]);
  const [download] = await asked.catch((error) => {
    if (tries > 1) return [];
    throw new Error(`${page.url().slice(0, 60)}: ${name}: ${error.message}`);
  });
  if (!download) return saved(page, name, tries - 1);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

test("the command gives the numbers of the page", async () => {
  const page = await open("run");
  const text = await copied(page, "Step: copy the command");
  const folder = mkdtempSync(join(tmpdir(), "foretrain-"));
  const out = execFileSync("bash", ["-c", `foretrain() { "${program}" "$@"; }\n${text}`], { cwd: folder, encoding: "utf8" });
  rmSync(folder, { recursive: true });
  assert.ok(out.includes(`step        ${await step_of(page)}, 80 % interval`), out);
  await done(page);
});

test("the program answers every block's command", async () => {
  const folder = mkdtempSync(join(tmpdir(), "foretrain-"));
  const asked = new Set();
  for (const view of Object.keys(VIEWS)) {
    const page = await open(view);
    for (const button of await page.getByRole("button", { name: /: copy the command$/ }).all()) {
      await button.click();
      asked.add(await page.evaluate(() => navigator.clipboard.readText()));
    }
    await done(page);
  }
  for (const text of asked) {
    const out = execFileSync("bash", ["-c", `set -e\nforetrain() { "${program}" "$@"; }\n${text}`], { cwd: folder, encoding: "utf8" });
    assert.ok(out.length > 100 || text.includes("--trace"), text);
  }
  assert.ok(asked.size >= Object.keys(VIEWS).length, [...asked].join("\n"));
  rmSync(folder, { recursive: true });
});

test("shares by operator are those of the command line", async () => {
  const page = await open("run");
  const text = await copied(page, "Step: copy the command");
  const out = execFileSync("bash", ["-c", `foretrain() { "${program}" "$@"; }\n${text}`], { encoding: "utf8" });
  const [, seconds, share] = /by operator \(same stage\)[\s\S]*?\n  linear +([\d.]+) +([\d.]+)/.exec(out);
  const row = page.locator(".shares tr", { has: page.getByRole("rowheader", { name: "linear", exact: true }) });
  assert.deepEqual(await row.locator("td.number").allTextContents(), [seconds, share]);
  await done(page);
});

test("a table and a picture of every block", async () => {
  for (const view of Object.keys(VIEWS)) {
    const page = await open(view);
    for (const block of await page.locator(".block").all()) {
      const title = await block.locator("h2").textContent();
      for (const [kind, is_right] of [["CSV", (bytes) => bytes.toString().split("\n").length > 1], ["PNG", (bytes) => bytes.subarray(0, 8).toString("hex") === PNG && bytes.length > 2000]]) {
        const name = `${title}: save as ${kind}`;
        if ((await page.getByRole("button", { name, exact: true }).count()) === 0) continue;
        const file = await saved(page, name);
        assert.ok(file.name.endsWith(`.${kind.toLowerCase()}`) && is_right(file.bytes), `${view}: ${name}`);
      }
    }
    await done(page);
  }
});

test("the table of the breakdown sums to the step", async () => {
  const page = await open("run");
  const { bytes } = await saved(page, "Where the time goes: save as CSV");
  const rows = bytes.toString().trim().split("\n").slice(1).map((row) => row.split(","));
  const shares = rows.reduce((sum, row) => sum + Number(row[2]), 0);
  assert.ok(Math.abs(shares - 1) < 1e-9, String(shares));
  await done(page);
});
