/** Which addresses are fetched at all. */
import { networkInterfaces } from "node:os";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readSettings } from "../../skills/web/settings.ts";
import { findTarget, readUrl } from "../../skills/web/target.ts";
import { isPublicAddress } from "../../src/lib/public-address.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import { anyCharacter } from "../doubles/any-character.ts";
import { runs } from "../faults/share.ts";

const never = new AbortController().signal;

const target = (written: string, config: JsonObject = {}, answers: { [host: string]: string[] } = {}) =>
  findTarget(
    readUrl(written),
    readSettings(config),
    async (host) => new Map(Object.entries(answers)).get(host) ?? ["93.184.215.14"],
    never,
  );

describe("an address is refused", () => {
  test.each([
    ...[
      "http://127.0.0.1/",
      "http://127.1/",
      "http://2130706433/",
      "http://0x7f000001/",
      "http://0x7f.1/",
      "http://0177.0.0.1/",
    ],
    ...[
      "http://0/",
      "http://0.0.0.0/",
      "http://127.0.0.1./",
      "http://①②⑦.⓪.⓪.①/",
      "http://127。0。0。1/",
      "http://%31%32%37.0.0.1/",
    ],
    ...[
      "http://[::1]/",
      "http://[::]/",
      "http://[::ffff:127.0.0.1]/",
      "http://[0:0:0:0:0:ffff:7f00:1]/",
      "http://[64:ff9b::7f00:1]/",
    ],
    ...[
      "http://[2002:7f00:1::]/",
      "http://[fd00:ec2::254]/",
      "http://169.254.169.254/latest",
      "http://3232235521/",
      "127.0.0.1",
    ],
    ...[
      "http:127.0.0.1",
      "http:\\\\127.0.0.1\\x",
      "  http://127.0.0.1  ",
      "https:///127.0.0.1/",
      "http://10.0.0.1#@8.8.8.8/",
    ],
  ])("when it is written as %s", async (written) => {
    await expect(target(written)).rejects.toThrow("not a public address");
  });

  test.each([
    ["file:///etc/passwd", "only http and https"],
    ["ftp://example.com/", "only http and https"],
    ["javascript:alert(1)", "only http and https"],
    ["//user:secret@example.com/", "user name or password"],
    ["http://user@example.com/", "user name or password"],
    ["http://8.8.8.8@127.0.0.1/", "user name or password"],
    ["http://[fe80::1%25eth0]/", "not a valid address"],
    ["http://1.2.3.4.5/", "not a valid address"],
    ["http://exa mple.com/", "not a valid address"],
    ["", "not a valid address"],
    [`https://example.com/${"x".repeat(5_000)}`, "longer than"],
    ["http://example.com:22/", "port 22"],
    ["http://example.com:6379/", "port 6379"],
    ["http://8.8.8.8:0/", "port 0"],
  ])("%s: %s", async (written, why) => {
    await expect((async () => await target(written))()).rejects.toThrow(why);
  });

  test("when one of its host's addresses is not public", async () => {
    const answers = {
      "mixed.example": ["93.184.215.14", "2606:4700::1", "10.0.0.5"],
      "six.example": ["::ffff:10.0.0.5"],
    };
    await expect(target("https://mixed.example/", {}, answers)).rejects.toThrow("not a public address");
    await expect(target("https://six.example/", {}, answers)).rejects.toThrow("not a public address");
    await expect(target("https://none.example/", {}, { "none.example": [] })).rejects.toThrow(
      "the host does not exist",
    );
    await expect(target("https://odd.example/", {}, { "odd.example": ["fe80::1%eth0"] })).rejects.toThrow(
      "not a public",
    );
    // What is inside is nobody's business: the answer does not say it.
    await expect(target("https://mixed.example/", {}, answers)).rejects.not.toThrow("10.0.0.5");
  });

  test("when it is one of this machine's own, public or not", async () => {
    const own = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
    expect(own.length).toBeGreaterThan(0);
    for (const { address } of own) {
      await expect(target("https://me.example/", {}, { "me.example": [address] })).rejects.toThrow(
        "not a public address",
      );
    }
  });

  test("and a name that is not looked up at the moment may be tried again", async () => {
    const failing = (code: string) => async () => Promise.reject(Object.assign(new Error(code), { code }));
    const find = (code: string) => findTarget(readUrl("https://a.example"), readSettings({}), failing(code), never);
    await expect(find("EAI_AGAIN")).rejects.toMatchObject({ isRetryable: true });
    await expect(find("ENOTFOUND")).rejects.toMatchObject({ isRetryable: false });
  });
});

test("an address that may be fetched comes with what was checked", async () => {
  const answers = { "xn--bcher-kva.example": ["93.184.215.14", "2606:4700::1"] };
  const found = await target("https://BÜCHER.example./a?b#c", {}, answers);
  expect(found).toMatchObject({
    host: "xn--bcher-kva.example",
    port: 443,
    addresses: answers["xn--bcher-kva.example"],
  });
  expect(found.url.href).toBe("https://xn--bcher-kva.example/a?b");
  expect((await target("example.com:8080/x")).url.href).toBe("https://example.com:8080/x");
  expect((await target("http://[64:ff9b::808:808]/")).addresses).toEqual(["64:ff9b::808:808"]);
});

describe("settings", () => {
  const inside = { "wiki.corp": ["10.0.0.5"], "other.corp": ["10.0.0.6"], "evil.example": ["10.0.0.5"] };
  const fetches = (written: string, config: JsonObject) =>
    target(written, config, inside).then(
      () => true,
      () => false,
    );

  test("open hosts, addresses and networks, and nothing beside them", async () => {
    expect(await fetches("http://wiki.corp/", { allow: ["wiki.corp"] })).toBe(true);
    expect(await fetches("http://WIKI.corp./", { allow: ["Wiki.Corp"] })).toBe(true);
    expect(await fetches("http://other.corp/", { allow: ["wiki.corp"] })).toBe(false);
    expect(await fetches("http://wiki.corp.evil.example/", { allow: ["wiki.corp"], deny: ["93.184.215.14"] })).toBe(
      false,
    );
    expect(await fetches("http://other.corp/", { allow: ["*.corp"] })).toBe(true);
    expect(await fetches("http://10.0.0.5/", { allow: ["wiki.corp"] })).toBe(false);
    expect(await fetches("http://evil.example/", { allow: ["wiki.corp"] })).toBe(false);
    expect(await fetches("http://10.0.0.5/", { allow: ["10.0.0.5"] })).toBe(true);
    expect(await fetches("http://wiki.corp/", { allow: ["10.0.0.0/29"] })).toBe(true);
    expect(await fetches("http://10.0.0.9/", { allow: ["10.0.0.0/29"] })).toBe(false);
    expect(await fetches("http://[::1]/", { allow: ["[::1]:80"] })).toBe(true);
    expect(await fetches("http://[::1]:8080/", { allow: ["[::1]:80"] })).toBe(false);
  });

  test("open a port with an entry that names it, and with the list of ports", async () => {
    expect(await fetches("http://wiki.corp:3000/", { allow: ["wiki.corp"] })).toBe(false);
    expect(await fetches("http://wiki.corp:3000/", { allow: ["wiki.corp:3000"] })).toBe(true);
    expect(await fetches("http://wiki.corp/", { allow: ["wiki.corp:3000"] })).toBe(false);
    expect(await fetches("http://example.com:9000/", { ports: [80, 9000] })).toBe(true);
    expect(await fetches("https://example.com/", { ports: [80, 9000] })).toBe(false);
  });

  test("close what is public, whatever is allowed", async () => {
    expect(await fetches("https://example.com/", { deny: ["example.com"] })).toBe(false);
    expect(await fetches("https://example.com/", { deny: ["93.184.0.0/16"] })).toBe(false);
    expect(await fetches("https://a.example.com/", { deny: ["*.example.com"], allow: ["a.example.com"] })).toBe(false);
  });

  test.each([
    [{ allow: ["http://wiki.corp"] }, /skills\.settings\.web\.allow\].*"http:\/\/wiki\.corp" is neither/],
    [{ allow: ["wiki.corp/path"] }, /neither/],
    [{ allow: ["wiki.corp:99999"] }, /neither/],
    [{ allow: ["10.0.0.0/99"] }, /neither/],
    [{ allow: ["*"] }, /neither/],
    [{ deny: [""] }, /web\.deny/],
    [{ ports: [0] }, /web\.ports\.0/],
    [{ port: 80 }, /port/],
    [{ seconds: 900 }, /web\.seconds/],
    [{ search: { provider: "altavista" } }, /web\.search\.provider/],
    [{ search: { url: "no address" } }, /web\.search\.url/],
  ])("%j is refused with its place", (config, message) => {
    expect(() => readSettings(config as JsonObject)).toThrow(message);
  });
});

test("whatever is written, what comes out is an address that was checked, or a refusal that can be read", async () => {
  const written = fc.oneof(
    fc.webUrl(),
    fc.string({ unit: anyCharacter, maxLength: 60 }),
    fc
      .tuple(fc.constantFrom("http://", "https:", "http:/\\", "//", ""), fc.string({ maxLength: 30 }))
      .map((parts) => parts.join("")),
    fc.ipV4Extended().map((address) => `http://${address}/`),
    fc.ipV6().map((address) => `http://[${address}]/`),
  );
  await fc.assert(
    fc.asyncProperty(written, async (text) => {
      const found = await (async () => target(text, {}, {}))().catch((thrown: unknown) => thrown);
      if (found instanceof Error) expect(found).toMatchObject({ name: "RemoraError" });
      else expect((found as { addresses: string[] }).addresses.every(isPublicAddress)).toBe(true);
    }),
    { numRuns: runs(500) },
  );
});
