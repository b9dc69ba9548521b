// What people type, step and press; what is wrong stands where it was typed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { done, open, open_at, step_of, until } from "./pages.mjs";
import { PATIENCE, READY } from "./questions.mjs";

async function type(page, field, text) {
  await page.fill(field, text);
  await page.press(field, "Enter");
}

test("bad input is told at its field, and gone with it", async () => {
  const page = await open("run");
  const right = await step_of(page);
  for (const [field, wrong, said] of [
    ["#plan", "tpp=2", "did you mean 'tp'"], ["#field-gpus", "x", "found 'x'"], ["#field-global_batch", "7", "not a multiple"],
    ["#field-model", "llama-3-9b", "did you mean 'llama-3-8b'"], ["#field-seq", "many", "found"],
  ]) {
    const before = await page.inputValue(field);
    await type(page, field, wrong);
    const error = page.locator(`${field}-error`);
    await error.waitFor({ state: "visible", ...PATIENCE });
    assert.match(await error.textContent(), new RegExp(said));
    assert.equal(await page.getAttribute(field, "aria-invalid"), "true");
    assert.equal(await page.getAttribute(field, "aria-describedby"), `${field.slice(1)}-error`);
    await type(page, field, before);
    await error.waitFor({ state: "hidden", ...PATIENCE });
    assert.equal(await step_of(page), right);
  }
  await done(page);
});

test("a name is completed by keys alone", async () => {
  const page = await open("run");
  await page.focus("#field-model");
  await page.keyboard.type("llama-3-70");
  await page.waitForSelector("[role=option]", PATIENCE);
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.getAttribute("#field-model", "aria-expanded"), "true");
  assert.match(await page.textContent("[role=option][aria-selected=true]"), /^llama-3-70b/);
  await page.keyboard.press("Enter");
  await until(page, () => document.querySelector("main .note").textContent.startsWith("llama-3-70b"));
  await done(page);
});

test("all of it by keys: to another view, from bar to bar, closer, back", async () => {
  const page = await open("run");
  await page.keyboard.press("Tab");
  assert.match(await page.evaluate(() => document.activeElement.textContent), /to the answer/);
  for (let i = 0; i < 2; i++) await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Timeline");
  await page.keyboard.press("Enter");
  await page.waitForSelector(READY.timeline, PATIENCE);
  // Every stop of the Tab key until the drawing can be seen to be reached.
  for (let i = 0; i < 80 && (await page.evaluate(() => document.activeElement.tagName)) !== "CANVAS"; i++) await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "CANVAS");
  await page.keyboard.press("ArrowRight");
  const first = await page.textContent("#timeline-told");
  assert.match(first, /^stage 1: .+, from /);
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await page.textContent("#timeline-told"), first);
  await page.keyboard.press("+");
  await until(page, () => location.hash.includes("window="));
  await page.keyboard.press("0");
  await until(page, () => !location.hash.includes("window="));
  await page.goBack();
  await page.waitForSelector(READY.run, PATIENCE);
  await done(page);
});

test("the same link is the same numbers, and a stepper changes link and numbers", async () => {
  const page = await open("run");
  await page.getByRole("button", { name: "copy the link to these numbers" }).click();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  const texts = [];
  for (let i = 0; i < 2; i++) {
    const again = await open_at(new URL(link).hash);
    await again.waitForSelector(READY.run, PATIENCE);
    texts.push(await again.locator("main").innerText());
    await done(again);
  }
  assert.equal(texts[0], texts[1]);
  assert.equal(texts[0], await page.locator("main").innerText());
  const before = await step_of(page);
  await page.focus("#plan-tp");
  await page.keyboard.press("ArrowRight");
  await until(page, (text) => document.querySelector("[data-testid=step]").textContent !== text, before);
  await until(page, () => location.hash.includes("plan=tp=4,pp=4"));
  assert.equal(await page.inputValue("#plan"), "tp=4,pp=4,zero=1");
  await done(page);
});

test("an empty link is an example that has an answer", async () => {
  const page = await open_at("");
  await page.waitForSelector(READY.run, PATIENCE);
  assert.match(await step_of(page), /^[\d.]+ m?s$/);
  await done(page);
});
