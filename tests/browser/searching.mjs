// A search from its start to its end, and to its cancelling.
import assert from "node:assert/strict";
import { test } from "node:test";
import { done, open, open_at, step_of, until } from "./pages.mjs";
import { LONG_SEARCH, PATIENCE, READY, VIEWS } from "./questions.mjs";

test("a search is cancelled, and the program forgets it", async () => {
  const page = await open_at(LONG_SEARCH);
  const asked = [];
  page.on("request", (request) => request.url().includes("/search") && asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
  await page.getByRole("button", { name: "Search", exact: true }).click(PATIENCE);
  await until(page, () => /of [\d,]+ plans decided/.test(document.querySelector(".running")?.textContent ?? ""));
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.waitForSelector("text=cancelled", PATIENCE);
  const id = asked.find((line) => line.startsWith("GET ")).split("/").pop();
  assert.ok(asked.includes(`DELETE /api/v1/search/${id}`), asked.join("\n"));
  await until(page, async (path) => (await fetch(path)).status === 404, `/api/v1/search/${id}`);
  await done(page);
});

test("a row opens to its variants, and its plan is taken as a run", async () => {
  const page = await open("search");
  const fold = page.locator(".fold:not([disabled])").first();
  await fold.focus();
  await page.keyboard.press("Enter");
  assert.equal(await fold.getAttribute("aria-expanded"), "true");
  assert.ok((await page.locator(".families tr.variant").count()) >= 2);
  const best = await page.textContent("[data-testid=best-step]");
  await page.getByRole("button", { name: "Look at it as a run" }).click();
  await page.waitForSelector(READY.run, PATIENCE);
  await until(page, (text) => document.querySelector("[data-testid=step]").textContent === text, best);
  assert.equal(await step_of(page), best);
  await done(page);
});

test("a rectangle over the front picks plans, by hand and by fields", async () => {
  const page = await open("search");
  const listed = () => page.locator(".front tbody tr").count();
  const all = await listed();
  const chart = page.locator(".front .figure svg");
  await chart.scrollIntoViewIfNeeded();
  const { x, y, width, height } = await chart.boundingBox();
  await page.mouse.move(x + width * 0.1, y + height * 0.05);
  await page.mouse.down();
  await page.mouse.move(x + width * 0.3, y + height * 0.5, { steps: 4 });
  await page.mouse.up();
  await until(page, () => location.hash.includes("front="));
  const picked = await listed();
  assert.ok(picked >= 1 && picked <= all);
  await page.fill("#front-memory", "30");
  await page.press("#front-memory", "Enter");
  await until(page, () => [...document.querySelectorAll(".front tbody tr td:nth-child(2)")].every((cell) => Number(cell.textContent) <= 30));
  await done(page);
});

test("why not, and what starts the best plan", async () => {
  const page = await open("search");
  assert.match(await page.textContent(".why"), /at its best tp=8.*plans are better/s);
  await page.selectOption("#launch-framework", "megatron");
  await page.waitForSelector("pre", PATIENCE);
  assert.match(await page.textContent("pre"), /^#!\/bin\/bash[\s\S]*--tensor-model-parallel-size/);
  await done(page);
});

test("of several batches the best plan of each, and of several counts of GPUs the best, is taken with its own", async () => {
  const page = await open_at("#search?model=llama-3-8b&cluster=dgx-h100&gpus=8&global_batch=64,128&stack=megatron&searched=1");
  await page.waitForSelector("text=The best plan of each", PATIENCE);
  assert.equal(await page.locator(".families tbody tr").count(), 2);
  await page.locator(".families .take").last().click();
  await page.waitForSelector(READY.run, PATIENCE);
  assert.equal(await page.inputValue("#field-global_batch"), "128");
  await done(page);
  const wide = await open_at("#search?model=llama-3-8b&cluster=dgx-h100&gpus=8..16&global_batch=64&stack=megatron&searched=1");
  await wide.getByRole("button", { name: "Look at it as a run" }).click(PATIENCE);
  await wide.waitForSelector(READY.run, PATIENCE);
  assert.equal(await wide.inputValue("#field-gpus"), "16");
  await done(wide);
});

test("what was found is pale once the question is another", async () => {
  const page = await open("search");
  const pale = () => page.locator(".block").first().evaluate((block) => Number(getComputedStyle(block).opacity));
  assert.equal(await pale(), 1);
  await page.fill("#field-gpus", "16");
  await page.press("#field-gpus", "Enter");
  await page.waitForSelector("text=The question has changed since.", PATIENCE);
  assert.ok((await pale()) < 1);
  await done(page);
});

test("where nothing near a plan fits, all plans are one press away", async () => {
  const page = await open_at("#run?model=llama-3-70b&cluster=dgx-h100&gpus=8&global_batch=64&stack=megatron&plan=tp=2,pp=2");
  await page.waitForSelector(".does_not_fit", PATIENCE);
  await page.getByRole("button", { name: "search all plans" }).click();
  await page.waitForSelector(".block h2", PATIENCE);
  await until(page, () => /^(Best plan|No plan fits)$/.test(document.querySelector(".block h2")?.textContent ?? ""));
  await done(page);
});

test("a limit that is no limit is told at its field", async () => {
  const page = await open_at(VIEWS.search.replace("&searched=1", ""));
  await page.waitForSelector("#search-set", PATIENCE);
  await page.fill("#search-set", "tpp=2");
  await page.press("#search-set", "Enter");
  await page.getByRole("button", { name: "Search", exact: true }).click();
  await page.waitForSelector("#search-set-error:not([hidden])", PATIENCE);
  assert.match(await page.textContent("#search-set-error"), /tpp/);
  await done(page);
});
