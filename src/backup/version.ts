/** Compares versions such as `0.2.0` and `1.0.0-beta.1`. */

export function isNewerVersion(version: string, than: string): boolean {
  return compareVersions(version, than) > 0;
}

/** A version with a suffix comes before the one without. Suffixes are compared as text. */
export function compareVersions(one: string, other: string): number {
  const [a, b] = [partsOf(one), partsOf(other)];
  for (const [index, number] of a.numbers.entries()) {
    const difference = number - (b.numbers[index] ?? 0);
    if (difference !== 0) return difference;
  }
  if (a.suffix === b.suffix) return 0;
  if (a.suffix === "" || b.suffix === "") return a.suffix === "" ? 1 : -1;
  return a.suffix < b.suffix ? -1 : 1;
}

function partsOf(version: string): { numbers: [number, number, number]; suffix: string } {
  const [, major = 0, minor = 0, patch = 0, suffix = ""] = /^v?(\d+)\.(\d+)\.(\d+)(?:-(.+))?/.exec(version) ?? [];
  return { numbers: [Number(major), Number(minor), Number(patch)], suffix };
}
