/** The hosts that a call may name, and how a card shows them. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { createEgress } from "../../../src/sandbox/egress/egress.ts";
import { hostLine, isApproved, parseAuthority, parseHosts } from "../../../src/sandbox/egress/hosts.ts";
import { anyCharacter } from "../../doubles/any-character.ts";
import { runs } from "../../faults/share.ts";

const hostsOf = (...list: string[]) => {
  const parsed = parseHosts(list);
  return parsed.type === "hosts" ? parsed.hosts : parsed.message;
};

test("a name means both ports of the web, and entries for one host become one", () => {
  expect(
    hostsOf("GitHub.com.", "packages.example.com:8443", "github.com:22", "93.184.216.34", "[2606:4700::0001]:443"),
  ).toEqual([
    { host: "github.com", ports: [443, 80, 22] },
    { host: "packages.example.com", ports: [8443] },
    { host: "93.184.216.34", ports: [443, 80] },
    { host: "2606:4700::1", ports: [443] },
  ]);
  expect(hostsOf("2606:4700::1")).toEqual([{ host: "2606:4700::1", ports: [443, 80] }]);
});

test.each([
  ["https://github.com/a", '"https://github.com/a" is a URL: name only its host, such as github.com.'],
  ["github.com/a", '"github.com/a" is a URL: name only its host, such as github.com.'],
  ["git@github.com", '"git@github.com" contains a user name: name only the host, such as github.com.'],
  ["*.github.com", '"*.github.com" is a wildcard: name each host that the command needs.'],
  ["localhost", '"localhost" is the sandbox itself: a command can reach its own servers there without network access.'],
  ["app.localhost:8080", "is the sandbox itself"],
  ["", '"" is empty: name a host, such as github.com.'],
  ["a b", '"a b" is not a host name, host:port or IP address: write it as'],
  ["host:0", "is not a host name"],
  ["host:65536", "is not a host name"],
  ["host:", "has no valid port"],
  ["host:123456", "has no valid port"],
  ["2130706433", "is not a host name"],
  ["0x7f.1", "is not a host name"],
  ["0x7f000001", "is not a host name"],
  ["017700000001", "is not a host name"],
  ["127.1", "is not a host name"],
  ["127.0.0.01", "is not a host name"],
  ["１２７.0.0.1", "is not a host name"],
  ["fe80::1%eth0", "is not a host name"],
  ["a\u202eb.com", '"a\\u202eb.com" is not a host name'],
  ["evil.com\n`x`", "is not a host name"],
  ["-a.com", "is not a host name"],
  ["a..b", "is not a host name"],
  ["%67ithub.com", "is not a host name"],
  ["x".repeat(300), "is too long for a host name."],
])("%j is refused with a sentence for the model", (entry, message) => {
  expect(hostsOf("github.com", entry)).toContain(message);
});

test("an empty list and a very long one are refused", () => {
  expect(hostsOf()).toContain("empty");
  expect(hostsOf(...Array.from({ length: 17 }, (_, at) => `h${at}.com`))).toContain("At most 16 hosts");
});

test("a card has one line for each host, and shows both forms of a name in another script", () => {
  const lines = (...list: string[]) => {
    const parsed = parseHosts(list);
    return parsed.type === "hosts" ? parsed.hosts.map(hostLine) : [];
  };
  expect(lines("github.com", "bücher.example:8443", "аррӏе.com:80")).toEqual([
    "github.com, ports 443 (HTTPS) and 80 (HTTP)",
    "xn--bcher-kva.example (bücher.example), port 8443",
    "xn--80ak6aa92e.com (аррӏе.com), port 80 (HTTP)",
  ]);
});

test("whatever is written, a host on the list is plain ASCII, and is read the same again", () => {
  const entry = fc.oneof(fc.string({ unit: anyCharacter }), fc.domain(), fc.ipV4(), fc.ipV6(), fc.webUrl());
  fc.assert(
    fc.property(entry, (written) => {
      const parsed = parseHosts([written]);
      if (parsed.type === "refused") {
        expect(parsed.message).toMatch(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*\.$/u);
        return;
      }
      for (const { host, ports } of parsed.hosts) {
        expect(host).toMatch(/^[a-z0-9._:-]+$/);
        for (const port of ports) {
          const text = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
          expect(parseAuthority(text)).toEqual({ host, port });
          expect(isApproved(parsed.hosts, host, port)).toBe(true);
        }
      }
    }),
    { numRuns: runs(2_000) },
  );
});

test("a host that never asks is recognised in every spelling, on the ports that the settings mean", () => {
  const settings = { allow: [], secrets: {}, log: () => {} };
  const { isFree } = createEgress({ ...settings, always: ["Web.example", "api.example:8443", "[2001:DB8::1]:443"] });
  const free = ["web.example", "WEB.example.", "web.example:443", "web.example:80", "api.example:8443"];
  for (const host of [...free, "[2001:db8:0::1]:443"]) expect([host, isFree(host)]).toEqual([host, true]);
  const asking = ["web.example:8080", "api.example", "a.web.example", "2001:db8::1", "https://web.example", "*", ""];
  for (const host of asking) expect([host, isFree(host)]).toEqual([host, false]);
  expect(() => createEgress({ ...settings, always: ["*.example"] })).toThrow("[sandbox.network.always]");
});
