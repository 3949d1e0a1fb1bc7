/** Compares by semantic versioning as far as the versions follow it. A missing version is the lowest. */
export function compareVersions(one: string | null, other: string | null): number {
  const [left, right] = [versionParts(one), versionParts(other)];
  for (let index = 0; index < Math.max(left.numbers.length, right.numbers.length); index += 1) {
    const difference = (left.numbers[index] ?? 0) - (right.numbers[index] ?? 0);
    if (difference !== 0) return difference;
  }
  if (left.preview === right.preview) return 0;
  if (left.preview === "" || right.preview === "") return left.preview === "" ? 1 : -1;
  return left.preview.localeCompare(right.preview, "en", { numeric: true });
}

function versionParts(version: string | null): { numbers: number[]; preview: string } {
  if (version === null) return { numbers: [-1], preview: "" };
  const [, numbers = "", preview = ""] = /^v?(\d+(?:\.\d+)*)(?:-([^+]*))?/i.exec(version.trim()) ?? [];
  return { numbers: numbers === "" ? [-1] : numbers.split(".").map(Number), preview };
}
