import fc from "fast-check";
import { expect, test } from "vitest";
import { createMasker, createRedactor } from "../../src/lib/redact.ts";

test("a configured secret is found in every text, also base64- and URL-encoded", () => {
  const secret = "hunter2/with+signs=";
  const redact = createRedactor([secret]);
  const base64 = Buffer.from(secret).toString("base64");
  const text = `plain ${secret} url ${encodeURIComponent(secret)} base64 ${base64}`;
  expect(redact(text)).toBe("plain [redacted] url [redacted] base64 [redacted]");
});

test("a configured secret is found base64url-encoded, where base64 has other letters", () => {
  // Its base64 has both letters that base64url replaces, and padding.
  const secret = "hunter2??>>>~~";
  const base64 = Buffer.from(secret).toString("base64");
  const base64url = Buffer.from(secret).toString("base64url");
  expect(base64).toMatch(/\+.*\/.*=|\/.*\+.*=/);
  expect(createRedactor([secret])(`a ${base64url} b`)).toBe("a [redacted] b");
  const mask = createMasker([{ name: "CLOUD_KEY", value: secret }]);
  expect(mask(`a ${base64url} b`)).toBe(`a [CLOUD_KEY, ${base64url.length} characters] b`);
});

test("known shapes of tokens are found without being configured", () => {
  const redact = createRedactor([]);
  const tokens = [
    "sk-ant-api03-abcdefghijklmnopqrstuvwxyz",
    "xoxb-123456789012-abcdefghij",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "AKIAIOSFODNN7EXAMPLE",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----",
  ];
  for (const token of tokens) expect(redact(`x ${token} y`)).toBe("x [redacted] y");
});

test("ordinary text comes back as it is", () => {
  const redact = createRedactor(["short", "a-long-secret-value"]);
  const text = "task-force risk-assessment-for-everyone, short words, https://example.org/a?b=c#d";
  expect(redact(text)).toBe(text);
});

test("no text keeps a configured secret, wherever it stands", () => {
  const secrets = fc.string({ unit: fc.constantFrom(...'abcdef"\\é'), minLength: 8 });
  const others = fc.string({ unit: fc.constantFrom(..."012 \n{}") });
  fc.assert(
    fc.property(secrets, others, others, (secret, before, after) => {
      const redact = createRedactor([secret]);
      expect(redact(before + secret + after)).toBe(`${before}[redacted]${after}`);
      expect(redact(JSON.stringify(before + secret))).not.toContain(JSON.stringify(secret).slice(1, -1));
    }),
  );
});

test("a mask tells a configured secret by its name and length, in every spelling, and masks nothing by its looks", () => {
  const value = 'hunter2/with+signs="';
  const mask = createMasker([
    { name: "CLOUD_KEY", value },
    { name: "OTHER", value: "short" },
    { name: "SAME", value },
  ]);
  const base64 = Buffer.from(value).toString("base64");
  expect(mask(`a ${value} b ${JSON.stringify(value)} c ${base64}`)).toBe(
    `a [CLOUD_KEY, 20 characters] b "[CLOUD_KEY, 21 characters]" c [CLOUD_KEY, ${base64.length} characters]`,
  );
  const looks = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz -----BEGIN PRIVATE KEY----- x -----END PRIVATE KEY----- short";
  expect(mask(looks)).toBe(looks);
});

test("of secrets that contain each other the longest is masked, and no mark is masked again", () => {
  const mask = createMasker([
    { name: "inner-secret", value: "inner-secret" },
    { name: "OUTER", value: "Bearer inner-secret" },
  ]);
  expect(mask("Bearer inner-secret, inner-secret")).toBe("[OUTER, 19 characters], [inner-secret, 12 characters]");
});
