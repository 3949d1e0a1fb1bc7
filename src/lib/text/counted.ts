import { formatNumber } from "./format-number.ts";

/** Such as `1 file` and `2,000 files`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${formatNumber(count)} ${count === 1 ? one : many}`;
}
