// The page in a real browser, served by the real program:
//   tests/browser/check build/release/foretrain           the cases
//   tests/browser/check build/release/foretrain --images  also new pictures for docs/images
import { after, afterEach, before } from "node:test";
import { close_pages, close_session, start_session } from "./pages.mjs";

before(start_session);
after(close_session);
afterEach(close_pages);
await import("./views.mjs");
await import("./shapes.mjs");
await import("./inputs.mjs");
await import("./dropping.mjs");
await import("./trusting.mjs");
await import("./ways_out.mjs");
await import("./searching.mjs");
await import("./speed.mjs");
if (process.argv.includes("--images")) await import("./images.mjs");
