import { defineConfig } from "vite";

// Names of files carry a hash of their contents, so that a browser may keep them for ever; nothing is inlined
// (the server's content security policy forbids inline scripts), and nothing in the output depends on the machine.
export default defineConfig({
  base: "./",
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    outDir: process.env.FORETRAIN_DIST ?? "dist",
    emptyOutDir: true,
    reportCompressedSize: true,
    chunkSizeWarningLimit: 400,
  },
  server: { proxy: { "/api": process.env.FORETRAIN_API ?? "http://127.0.0.1:8600" } },
});
