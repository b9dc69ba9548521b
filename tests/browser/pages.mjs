// Pages of the one session that all cases share.
import assert from "node:assert/strict";
import { open_page, open_session } from "./session.mjs";
import { PATIENCE, READY, VIEWS } from "./questions.mjs";

export let session;
export async function start_session() {
  session = await open_session(process.env.FORETRAIN ?? "build/release/foretrain");
}
export const close_session = () => session?.close();

// What a failed case left open would go on asking.
export const close_pages = () => Promise.all(session.browser.pages().slice(1).map((page) => page.close()));

// A view with its answer there.
export async function open(view, options) {
  const page = await open_page(session, VIEWS[view], options);
  await page.waitForSelector(READY[view], PATIENCE);
  return page;
}
export const open_at = (fragment, options) => open_page(session, fragment, options);

export async function done(page) {
  assert.deepEqual(page.complaints, []);
  await page.close();
}

export const step_of = (page) => page.textContent("[data-testid=step]");
// Until the page says so, rather than after a while.
export const until = (page, what, argument) => page.waitForFunction(what, argument, PATIENCE);
