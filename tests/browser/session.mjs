// A real server and a real browser for the cases: started once, ended whatever happens. playwright-core drives Debian's
// chromium, which asks nobody on the network for anything.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const web = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = web("playwright-core");
export const AXE = web.resolve("axe-core/axe.min.js");

const STARTED = /http:\/\/[^\s/]+:(\d+)/;
const QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--disable-lcd-text"];

// `foretrain serve` on a port that is free.
async function start_server(program) {
  const server = spawn(program, ["serve", "--port", "0"], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  const port = await new Promise((found, fail) => {
    const read = (bytes) => {
      said += bytes;
      const match = STARTED.exec(said);
      if (match) found(Number(match[1]));
    };
    server.stdout.on("data", read);
    server.stderr.on("data", read);
    server.on("exit", (code) => fail(new Error(`${program} serve ended with ${code}: ${said}`)));
    setTimeout(() => fail(new Error(`${program} serve said nothing of a port: ${said}`)), 15_000).unref();
  });
  return { server, address: `http://localhost:${port}/` };
}

export async function open_session(program) {
  const { server, address } = process.env.FORETRAIN_ADDRESS
    ? { server: null, address: process.env.FORETRAIN_ADDRESS }
    : await start_server(program);
  const { status } = await fetch(address);
  if (status !== 200) throw new Error(`${address} answers ${status}: a program without its page?`);
  const folder = mkdtempSync(join(tmpdir(), "foretrain-browser-"));
  // A person who saves ten tables in a row is asked whether that is meant; here it is.
  mkdirSync(join(folder, "Default"));
  writeFileSync(join(folder, "Default", "Preferences"), JSON.stringify({ profile: { default_content_setting_values: { automatic_downloads: 1 } } }));
  const browser = await chromium.launchPersistentContext(folder, {
    executablePath: "/usr/bin/chromium", args: QUIET, headless: true, acceptDownloads: true,
    viewport: { width: 1440, height: 900 }, colorScheme: "light", permissions: ["clipboard-read", "clipboard-write"],
  });
  return {
    address, browser,
    close: async () => {
      await browser.close();
      server?.kill("SIGTERM");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

// A page of its own; what it complains of (an error, something the content security policy forbids) fails the case.
export async function open_page({ browser, address }, fragment, { width = 1440, height = 900, dark = false } = {}) {
  const page = await browser.newPage();
  page.complaints = [];
  page.on("pageerror", (error) => page.complaints.push(error.message));
  page.on("console", (message) => {
    // A refused question is an answer; the browser reports its status all the same.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) page.complaints.push(message.text());
  });
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
  await page.goto(`${address}${fragment}`);
  return page;
}
