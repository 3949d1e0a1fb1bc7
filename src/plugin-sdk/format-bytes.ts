export { formatBytes } from "../lib/text/format-bytes.ts";
