import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { configCheckCommand, configCommand, configGetCommand } from "../../src/cli/config.ts";

let root: string;
let file: string;
let printed: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "remora-config-command-"));
  file = join(root, "remora.yaml");
  writeFileSync(file, "safety: { quorum: 2 }\nmodels: { openai: { apiKey: key-one-two } }\n");
  printed = "";
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    printed += text;
    return true;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
  rmSync(root, { recursive: true, force: true });
});

test("config lists every setting with its source; --changed only what differs; secrets are only said to be set", () => {
  configCommand({ REMORA_CONFIG: file, LOG_LEVEL: "warn" }, root, {});
  expect(printed).toMatch(new RegExp(`^safety\\.quorum +2 +\\(${file}:1\\)$`, "m"));
  expect(printed).toMatch(/^safety\.shell +free +\(default\)$/m);
  expect(printed).toMatch(/^log\.level +warn +\(LOG_LEVEL\)$/m);
  expect(printed).not.toContain("key-one-two");
  printed = "";
  configCommand({ REMORA_CONFIG: file }, root, { changed: true, json: true });
  expect(JSON.parse(printed).map(({ key }: { key: string }) => key)).toEqual([
    "models.openai.apiKey",
    "safety.quorum",
    "REMORA_CONFIG",
  ]);
});

test("config get prints one value or a group, and suggests a name", () => {
  configGetCommand({ REMORA_CONFIG: file }, root, "safety.quorum", {});
  expect(printed).toBe("2\n");
  printed = "";
  configGetCommand({ REMORA_CONFIG: file }, root, "safety.undo", {});
  expect(printed).toBe("safety.undo.days       7  (default)\nsafety.undo.megabytes  1000  (default)\n");
  const get = (key: string) => () => configGetCommand({ REMORA_CONFIG: file }, root, key, {});
  expect(get("safety.quorm")).toThrow("Did you mean safety.quorum?");
  expect(get("quorum")).toThrow("Did you mean safety.quorum?");
  expect(get("nonsense")).toThrow("For a list: remora config");
});

test("config check prints one line per problem and sets the exit code", () => {
  configCheckCommand({}, root, file);
  expect(printed).toBe(`${file} has no problems.\n`);
  expect(process.exitCode).toBeUndefined();
  printed = "";
  writeFileSync(file, "safety:\n  quorm: 2\nweb: { port: http }\n");
  configCheckCommand({}, root, file);
  expect(process.exitCode).toBe(1);
  expect(printed.split("\n").toSorted()).toEqual([
    "",
    expect.stringContaining(`[${file}:2] safety.quorm: unknown key. Did you mean "quorum"?`),
    expect.stringContaining(`[${file}:3] web.port: "http" can't be used`),
  ]);
});
