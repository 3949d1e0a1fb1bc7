/** `Ann`, `Ann and Ben`, or `Ann, Ben and Cara`. */
export function namesText(names: readonly string[], last: "and" | "or" = "and"): string {
  if (names.length <= 1) return names.join("");
  return `${names.slice(0, -1).join(", ")} ${last} ${names.at(-1)}`;
}
