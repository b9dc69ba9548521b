// Files that are dropped anywhere on the page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { done, open, step_of, until } from "./pages.mjs";
import { FILES, PATIENCE, READY } from "./questions.mjs";

export async function drop(page, file) {
  const send = (kind) => page.evaluate(([kind_, { name, text }]) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([text], name));
    document.body.dispatchEvent(new DragEvent(kind_, { dataTransfer, bubbles: true, cancelable: true }));
  }, [kind, file]);
  await send("dragover");
  await page.waitForSelector(".drop-area:not([hidden])", PATIENCE);
  await send("drop");
  await page.waitForSelector(".drop-area", { state: "hidden", ...PATIENCE });
}
const asked = (page, text) => until(page, (wanted) => document.querySelector("main .note")?.textContent.includes(wanted), text);

test("a launch script becomes the run", async () => {
  const page = await open("run");
  const before = await page.textContent("main .note");
  await drop(page, FILES.launch);
  await page.waitForSelector(".held", PATIENCE);
  await until(page, (text) => document.querySelector("main .note")?.textContent !== text, before);
  assert.match(await page.textContent(".held"), /train\.sh/);
  assert.equal(await page.inputValue("#plan"), "");
  assert.match(await page.textContent("main .note"), /stack megatron/);
  await page.getByRole("button", { name: "forget train.sh" }).click();
  await page.waitForSelector(".chooser", PATIENCE);
  await done(page);
});

test("a log stands beside the prediction of its run", async () => {
  const page = await open("run");
  await drop(page, FILES.log);
  await page.waitForSelector(".interval-measured", PATIENCE);
  await asked(page, "16 × h100-80gb-sxm");
  assert.match(await page.textContent(".verdict .step"), /measured 1\.95 s/);
  await done(page);
});

test("what was told of another run does not stand beside a log whose own has no prediction", async () => {
  const page = await open("run");
  await drop(page, FILES.log_cut_short);
  await page.waitForSelector("text=/^No answer: .*missing key 'heads'/", PATIENCE);
  assert.equal(await page.locator("[data-testid=step]").count(), 0);
  assert.equal(await page.getAttribute("#field-seq", "placeholder"), "");
  await page.fill("#field-model", "llama-2-7b");
  await page.press("#field-model", "Enter");
  await page.waitForSelector(".interval-measured", PATIENCE);
  await done(page);
});

test("a config.json becomes the model of the run", async () => {
  const page = await open("run");
  const before = await step_of(page);
  await drop(page, FILES.model);
  await asked(page, "1.24 B parameters");
  assert.notEqual(await step_of(page), before);
  assert.equal(await page.inputValue("#field-model"), "config.json");
  await done(page);
});

test("a table of measured runs becomes the scoreboard", async () => {
  const page = await open("run");
  await drop(page, FILES.table);
  await page.waitForSelector(READY.scoreboard, PATIENCE);
  assert.equal(await page.textContent("nav a[aria-current=page]"), "Scoreboard");
  await done(page);
});

test("what nobody can read is told in one line", async () => {
  const page = await open("run");
  const before = await step_of(page);
  await drop(page, { name: "notes.txt", text: "buy milk\n" });
  await page.waitForSelector(".notice.wrong", PATIENCE);
  assert.match(await page.textContent(".notice"), /^notes\.txt: /);
  assert.equal(await step_of(page), before);
  await done(page);
});
