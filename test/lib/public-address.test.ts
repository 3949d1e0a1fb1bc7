/** Which addresses are public, in every spelling. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { isPublicAddress, networkOf } from "../../src/lib/public-address.ts";

test.each([
  ...["0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.0.1"],
  ...[
    "169.254.169.254",
    "168.63.129.16",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.0.170",
    "192.0.2.1",
    "192.88.99.1",
  ],
  ...["192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.7", "224.0.0.1", "239.255.255.255"],
  ...["240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe"],
  ...["::127.0.0.1", "::a00:1", "64:ff9b::10.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "64:ff9b:1:fffe::808:808"],
  ...[
    "100::1",
    "100:0:0:1::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:2::1",
    "2001:10::1",
    "2001:20::1",
  ],
  ...[
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "2002:808:808::1",
    "3fff::1",
    "3fff:fff::1",
    "4000::1",
    "5f00::1",
  ],
  ...[
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "2606:4700::1%eth0",
    "febf::1",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
  ],
  ...["", "localhost", "example.com", "1", "0x7f000001", "127.1", "1.2.3.4.5", "8.8.8.8 ", "[::1]"],
])("%s is not public", (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test.each([
  ...[
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.1",
  ],
  ...["169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.1", "192.167.255.255", "192.169.0.0"],
  ...[
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001::1",
    "2001:4860:4860::8888",
  ],
  ...["2001:200::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "64:ff9b::101:101", "2620:fe::fe", "3ffe::1"],
])("%s is public", (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

/** As arithmetic on numbers, so that a mistake in the tables is not repeated here. */
function isOrdinary(bytes: readonly number[]): boolean {
  const [a = 0, b = 0, c = 0] = bytes;
  if (a === 0 || a === 10 || a === 127 || a >= 224) return false;
  if (a === 100 && b >= 64 && b < 128) return false;
  if ((a === 169 && b === 254) || (a === 172 && b >= 16 && b < 32) || (a === 198 && (b === 18 || b === 19)))
    return false;
  if (a === 192) return !(b === 168 || (b === 0 && (c === 0 || c === 2)) || (b === 88 && c === 99) || isAnycast(b, c));
  return !((a === 198 && b === 51 && c === 100) || (a === 203 && b === 0 && c === 113));
}
const isAnycast = (b: number, c: number) =>
  (b === 31 && c === 196) || (b === 52 && c === 193) || (b === 175 && c === 48);

test("an IPv4 address is judged the same in every IPv6 dress that leads to it", () => {
  const byte = fc.integer({ min: 0, max: 255 });
  const first = fc.oneof(byte, fc.constantFrom(10, 100, 127, 169, 172, 192, 198, 203));
  fc.assert(
    fc.property(fc.tuple(first, byte, byte, byte), (bytes) => {
      const dotted = bytes.join(".");
      expect(isPublicAddress(dotted)).toBe(isOrdinary(bytes));
      const hex = bytes.map((one) => one.toString(16).padStart(2, "0")).join("");
      const groups = `${hex.slice(0, 4)}:${hex.slice(4)}`;
      for (const dress of [
        `::ffff:${dotted}`,
        `::ffff:${groups}`,
        `0:0:0:0:0:ffff:${groups}`,
        `64:ff9b::${groups}`,
        `64:ff9b::${dotted}`,
      ]) {
        expect([dress, isPublicAddress(dress)]).toEqual([dress, isOrdinary(bytes)]);
      }
      for (const dead of [`::${groups}`, `2002:${groups}::1`, `64:ff9b:1::${groups}`])
        expect(isPublicAddress(dead)).toBe(false);
    }),
    { numRuns: 500 },
  );
});

test("networks are addresses with or without a length, and nothing else", () => {
  for (const written of ["10.0.0.0/8", "10.1.2.3", "::1", "fd00::/8"]) expect(networkOf(written)).toBeDefined();
  for (const written of ["10.0.0.0/33", "::/129", "10.0/8", "host", "", "/8", "10.0.0.0/", "fe80::1%eth0"]) {
    expect(networkOf(written)).toBeUndefined();
  }
});
