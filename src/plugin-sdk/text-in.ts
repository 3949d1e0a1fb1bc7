/** A text in a call's input or settings; empty if there is none. */
export function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}
