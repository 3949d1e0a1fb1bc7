/** Serves the page's files, and the libraries that it uses. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { serveStatic } from "@hono/node-server/serve-static";
import type { Context, Hono } from "hono";

const vendor = new Map(
  Object.entries({
    "marked.js": import.meta.resolve("marked"),
    "dompurify.js": import.meta.resolve("dompurify"),
    "diff-lines.js": import.meta.resolve("../../lib/diff-lines.js"),
    "highlight.js": import.meta.resolve("@highlightjs/cdn-assets/es/highlight.min.js"),
  }),
);

export function mountPage(app: Hono): void {
  const page = fileURLToPath(new URL("page/", import.meta.url));
  const noStale = (_path: string, context: Context) => context.header("Cache-Control", "no-cache");
  app.get("/", serveStatic({ root: page, path: "index.html", onFound: noStale }));
  app.get("/local/vendor/:name", async (context) => {
    const url = vendor.get(context.req.param("name"));
    if (url === undefined) return context.notFound();
    return context.body(await readFile(fileURLToPath(url), "utf8"), 200, {
      "content-type": "text/javascript; charset=utf-8",
      "cache-control": "no-cache",
    });
  });
  const rewriteRequestPath = (path: string) => path.slice("/local/page".length);
  app.get("/local/page/*", serveStatic({ root: page, rewriteRequestPath, onFound: noStale }));
}
