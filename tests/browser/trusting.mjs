// How far to trust it: published runs like the one in question, and what one's own measurements taught.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { drop } from "./dropping.mjs";
import { done, open, open_at, step_of, until } from "./pages.mjs";
import { PATIENCE } from "./questions.mjs";

const program = resolve(process.env.FORETRAIN ?? "build/release/foretrain");

test("the scoreboard tells of published runs like the one at the side", async () => {
  const page = await open("published");
  const like = page.locator(".block", { has: page.getByRole("heading", { name: "Published runs like this one" }) });
  const told = JSON.parse(execFileSync(program, ["accuracy", "--model", "llama-3-8b", "--cluster", "dgx-h100", "--gpus", "64", "--global-batch", "512",
    "--stack", "megatron", "--plan", "tp=2,pp=4,zero=1", "--json"], { encoding: "utf8" }));
  const nearest = told.like.find(({ figures }) => figures.count > 0);
  assert.equal(await page.textContent("[data-testid=trust]"), `${(nearest.figures.mape * 100).toFixed(1)} % off`);
  assert.equal(await like.locator("tbody tr").count(), told.like.length + 1);
  // Another stack is another line; by stack, the run's own is marked.
  await page.fill("#field-stack", "nemo");
  await page.press("#field-stack", "Enter");
  await until(page, () => [...document.querySelectorAll(".block th")].some((cell) => cell.textContent.startsWith("stack nemo")));
  await page.getByRole("button", { name: "by stack", exact: true }).click();
  await page.waitForSelector("text=as this run", PATIENCE);
  assert.match(await page.locator("tr", { hasText: "as this run" }).textContent(), /^nemo/);
  await done(page);
});

test("the scoreboard says why it cannot tell which runs are like one that is none", async () => {
  const page = await open_at("#scoreboard?model=llama-3-8b&cluster=dgx-h100&gpus=63&global_batch=512");
  await page.waitForSelector("text=/cannot be told: .*gpus 63/", PATIENCE);
  await done(page);
});

test("a calibration is dropped, told of, in the command, and forgotten", async () => {
  const folder = mkdtempSync(join(tmpdir(), "foretrain-"));
  execFileSync(program, ["calibrate", "--model", "llama-3-8b", "--cluster", "dgx-h100", "--gpus", "64", "--global-batch", "512", "--stack", "megatron",
    "--plan", "tp=2,pp=4,zero=1", "--measured", "9.9", "--name", "ours", "-o", join(folder, "ours")]);
  const text = readFileSync(join(folder, "ours", "calibration.yaml"), "utf8");
  rmSync(folder, { recursive: true });
  const page = await open("run");
  const before = await step_of(page);
  await drop(page, { name: "calibration.yaml", text });
  await page.waitForSelector("[data-testid=standing]", PATIENCE);
  assert.match(await page.textContent("[data-testid=standing]"), /stands on calibration ours, of 1 measured run: without it/);
  assert.notEqual(await step_of(page), before);
  await page.getByRole("button", { name: "Step: copy the command" }).click();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /--calibration calibration\.yaml/);
  await page.getByRole("link", { name: "Sweep" }).click();
  await page.waitForSelector("text=/calibration ours, of 1 run/", PATIENCE);
  assert.equal(await page.inputValue("#over"), "tp=1..8");
  await page.getByRole("link", { name: "Run", exact: true }).click();
  await page.fill("#field-cluster", "dgx-a100");  // which it is not of
  await page.press("#field-cluster", "Enter");
  await page.waitForSelector(".dropped .error", PATIENCE);
  await page.getByRole("button", { name: "forget calibration.yaml" }).click();
  await page.waitForSelector("[data-testid=standing]", { state: "detached", ...PATIENCE });
  await done(page);
});

test("a calibration of another cluster is not taken", async () => {
  const page = await open("run");
  const before = await step_of(page);
  await drop(page, { name: "calibration.yaml", text: "version: 1\nname: x\nfactors:\n  products: 1\nlessons:\n  - 1\n" });
  await page.waitForSelector(".notice.wrong", PATIENCE);
  assert.match(await page.textContent(".notice"), /^calibration\.yaml: /);
  assert.equal(await step_of(page), before);
  await done(page);
});
