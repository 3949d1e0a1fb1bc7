/** Minimal git host, npm registry and Python package index for the real programs. */
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

export function scratchFolder(): { path: string; close(): void } {
  const path = mkdtempSync(join(tmpdir(), "remora-egress-test-"));
  return { path, close: () => rmSync(path, { recursive: true, force: true }) };
}

/** Smart HTTP through `git http-backend`; anyone may push. `folder` gets a bare repository `project.git` with one commit. */
export function gitHost(folder: string): RequestListener {
  const git = (...args: string[]) => execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args]);
  const work = join(folder, "work");
  git("init", "-q", "-b", "main", work);
  writeFileSync(join(work, "README"), "hello\n");
  git("-C", work, "add", ".");
  git("-C", work, "commit", "-qm", "first");
  git("clone", "-q", "--bare", work, join(folder, "project.git"));
  git("-C", join(folder, "project.git"), "config", "http.receivepack", "true");

  return (request, response) => {
    const [path = "", query = ""] = (request.url ?? "").split("?");
    const length = request.headers["content-length"];
    const backend = spawn("git", ["http-backend"], {
      env: {
        ...process.env,
        ...{ GIT_PROJECT_ROOT: folder, GIT_HTTP_EXPORT_ALL: "1", PATH_INFO: path, QUERY_STRING: query },
        ...{ REQUEST_METHOD: request.method, CONTENT_TYPE: request.headers["content-type"] ?? "" },
        ...{ HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "", REMOTE_USER: "t", REMOTE_ADDR: "::1" },
        ...(length === undefined ? {} : { CONTENT_LENGTH: length }),
      },
      stdio: ["pipe", "pipe", "inherit"],
    });
    backend.stdin.on("error", () => {});
    request.pipe(backend.stdin);
    let head = "";
    const readHead = (chunk: Buffer) => {
      head += chunk.toString("latin1");
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      backend.stdout.off("data", readHead);
      const fields = head.slice(0, end).split("\r\n");
      const headers = fields.map((field) => field.split(/:\s*/, 2) as [string, string]);
      const status = headers.find(([name]) => name === "Status")?.[1] ?? "200";
      response.writeHead(Number.parseInt(status, 10), headers.filter(([name]) => name !== "Status").flat());
      response.write(Buffer.from(head.slice(end + 4), "latin1"));
      backend.stdout.pipe(response);
    };
    backend.stdout.on("data", readHead);
  };
}

/** One package, `tiny`, with one file. */
export function npmRegistry(folder: string): RequestListener {
  mkdirSync(join(folder, "package"));
  writeFileSync(join(folder, "package/package.json"), JSON.stringify({ name: "tiny", version: "1.2.3", main: "a.js" }));
  writeFileSync(join(folder, "package/a.js"), "module.exports = 'tiny works';\n");
  execFileSync("tar", ["-C", folder, "-czf", join(folder, "tiny.tgz"), "package"]);
  const tarball = readFileSync(join(folder, "tiny.tgz"));
  const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
  return (request, response) => {
    if (request.url === "/tiny/-/tiny-1.2.3.tgz") return void response.end(tarball);
    if (request.url !== "/tiny") return void response.writeHead(404).end("{}");
    const scheme = "encrypted" in request.socket ? "https" : "http";
    const dist = { tarball: `${scheme}://${request.headers.host}/tiny/-/tiny-1.2.3.tgz`, integrity };
    const versions = { "1.2.3": { name: "tiny", version: "1.2.3", main: "a.js", dist } };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ name: "tiny", "dist-tags": { latest: "1.2.3" }, versions }));
  };
}

/** One package, `tinypy`, as a wheel. */
export function pythonIndex(folder: string): RequestListener {
  const file = "tinypy-1.0-py3-none-any.whl";
  const info = "tinypy-1.0.dist-info";
  const script = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("tinypy.py", "word = 'tinypy works'\\n")
    wheel.writestr("${info}/METADATA", "Metadata-Version: 2.1\\nName: tinypy\\nVersion: 1.0\\n")
    wheel.writestr("${info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("${info}/RECORD", "tinypy.py,,\\n${info}/METADATA,,\\n${info}/WHEEL,,\\n${info}/RECORD,,\\n")
`;
  execFileSync("python3", ["-c", script, join(folder, file)]);
  const wheel = readFileSync(join(folder, file));
  return (request, response) => {
    if (request.url === `/files/${file}`) return void response.end(wheel);
    if (request.url !== "/simple/tinypy/") return void response.writeHead(404).end();
    response.setHeader("content-type", "text/html");
    response.end(`<!DOCTYPE html><html><body><a href="/files/${file}">${file}</a></body></html>`);
  };
}
