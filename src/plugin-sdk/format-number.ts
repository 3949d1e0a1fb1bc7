export { formatNumber } from "../lib/text/format-number.ts";
