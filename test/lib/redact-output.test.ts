/** What programs print, without secrets: variants of how a secret may stand there, and ordinary lines that stay readable. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createOutputRedactor } from "../../src/lib/redact-output.ts";

const from = (characters: string, minLength: number, maxLength: number) =>
  // fc.string prefers names such as `propertyIsEnumerable`.
  fc.array(fc.constantFrom(...characters), { minLength, maxLength }).map((all) => all.join(""));
const letters = "abcdefghijklmnopqrstuvwxyz";
const base62 = `${letters}${letters.toUpperCase()}0123456789`;
const value = from(`${base62}-_!&/+ .`, 10, 40).filter((text) => text.trim() === text && !/\s\s/.test(text));

const encodings: ((text: string) => string)[] = [
  (text) => text,
  (text) => JSON.stringify(text),
  encodeURIComponent,
  (text) => Buffer.from(text).toString("base64"),
  (text) => Buffer.from(`:${text}`).toString("base64"),
  (text) => Buffer.from(text).toString("base64url"),
  (text) => Buffer.from(text).toString("hex"),
];
const breakers = ["", "\n", "\r\n", "\u001b[31m", "\u001b[0m\n", "\u200b", "\u00ad", "\u0007"];
const around = ["", " ", "\n", ", ", '"', " | "];

describe("the redaction of what programs print", () => {
  test("leaves less than six characters of a configured value, however it is broken and encoded", () => {
    const variant = fc.tuple(value, fc.constantFrom(...encodings), fc.constantFrom(...breakers), fc.nat(30));
    fc.assert(
      fc.property(variant, fc.constantFrom(...around), fc.boolean(), ([secret, encode, breaker, at], edge, isTwice) => {
        const encoded = encode(secret);
        const cut = Math.min(at, encoded.length);
        const broken = encoded.slice(0, cut) + breaker + encoded.slice(cut);
        const shown = createOutputRedactor([["SHOP_TOKEN", secret]])(
          `¶${edge}${broken}${edge}¶${isTwice ? `${broken}¶` : ""}`,
        );
        const left = shown.replaceAll("[redacted]", "").replace(/[¶":|,\s]/g, "");
        expect(left.length).toBeLessThan(isTwice ? 12 : 6);
      }),
      { numRuns: 500, endOnFailure: true },
    );
  });

  test("leaves no half of a configured value that a limit has cut", () => {
    fc.assert(
      fc.property(from(base62, 10, 40), fc.boolean(), (secret, isBeginning) => {
        const half = Math.ceil(secret.length / 2);
        const shown = createOutputRedactor([["SHOP_TOKEN", secret]])(
          isBeginning ? `the key ${secret.slice(0, half)}` : `${secret.slice(-half)} is wrong`,
        );
        expect(shown).toMatch(isBeginning ? /^the key \[redacted\]$/ : /^\[redacted\] is /);
      }),
      { numRuns: 500, endOnFailure: true },
    );
  });

  test("leaves no long word that reads like none, whoever may have made it", () => {
    const unknown = fc.oneof(
      from(base62, 20, 60),
      from("0123456789abcdef", 24, 64),
      from("0123456789abcdef", 32, 32).map((hex) => hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")),
      from(`${base62}+/`, 40, 60).map((text) => `${text}==`),
      from(`${base62}-_`, 24, 60),
      from("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 24, 40),
    );
    fc.assert(
      fc.property(unknown, fc.constantFrom("", "x_", "live-"), (token, prefix) => {
        const shown = createOutputRedactor([])(`trying ${prefix}${token} now`);
        const left = shown.slice("trying ".length, -" now".length).split("[redacted]");
        expect(left.filter((part) => part.replace(/[/.]/g, "").length > 5)).toEqual([]);
      }),
      { numRuns: 500, endOnFailure: true },
    );
  });

  test.each([
    ["password=hunter2 next", "hunter2"],
    ["password: correct horse battery", "horse"],
    ['{"apiKey":"abc def"}', "def"],
    ["DB_PASS='x y'", "x y"],
    ["--token abc --port 80", "abc"],
    ["Authorization: Bearer abc.def", "abc.def"],
    ["Proxy-Authorization: Basic YWRhOng=", "YWRh"],
    ["Cookie: sid=1; theme=dark", "sid"],
    ["postgres://root:pa/ss@w@db:5432/x", "pa/ss"],
    ["https://hooter@example.com/x", "hooter"],
    ["GET /x?sig=abc&page=2", "abc"],
    ["ghp_short1", "short1"],
    ["xoxb-1-2-three", "three"],
    ["MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcDE.abcdefghijklmnopqrstuvwxyz123", "GabcDE"],
    ["AKIAIOSFODNN7EXAMPLE", "IOSFO"],
    ["sk-ant-api03-abc", "api03"],
    ["sk-proj-abcdef1", "abcdef"],
    ["AIzaSyA1234567", "SyA12"],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "c2ln"],
    ["-----BEGIN RSA PRIVATE KEY-----\nMIIE\nab=", "MIIE"],
    ["MIIE\nab=\n-----END PRIVATE KEY-----", "MIIE"],
  ])("%s is hidden by its form", (text, secret) => {
    expect(createOutputRedactor([])(text)).not.toContain(secret);
  });

  test.each([
    "the database is not there",
    "Error: Cannot find module '@modelcontextprotocol/server-github'",
    "at Module._resolveFilename (node:internal/modules/cjs/loader:1228:15)",
    "at /usr/lib/node_modules/npm/bin/npm-cli.js:45:12",
    "2026-11-28T04:05:52.123Z info listening on http://localhost:3000/health",
    "npm error code ERR_PACKAGE_PATH_NOT_EXPORTED",
    "connect ECONNREFUSED 127.0.0.1:5432 (pid 12345, v22.4.1, x86_64-linux-gnu)",
    "GET https://registry.npmjs.org/left-pad?page=2 404",
    "StreamableHTTPServerTransport needs node >= 20.11.0",
  ])("%s stays as it is", (text) => {
    expect(createOutputRedactor([["NODE_ENV", "production"]])(text)).toBe(text);
  });
});
