/** Converts a tool's arguments, which are already checked against its schema, to a request. */
import type { JsonObject } from "../../src/plugin-sdk/plugin.ts";
import type { ChartRequest } from "./chart/chart-request.ts";
import { dataProblem } from "./problem.ts";
import type { CsvOptions } from "./requests.ts";

const chartTypes = ["bar", "line", "area", "scatter", "pie", "histogram"] as const;

export function filesIn({ files }: JsonObject): string[] {
  return textsIn(files);
}

export function sourceOptions({ delimiter, header, skip_lines: skipped }: JsonObject): CsvOptions {
  const written = optionalText(delimiter);
  return {
    ...(written === undefined ? {} : { delimiter: written === "\\t" || written === "tab" ? "\t" : written }),
    hasHeader: header !== false,
    skippedLines: typeof skipped === "number" ? skipped : 0,
  };
}

export function chartOf(input: JsonObject): ChartRequest {
  const type = chartTypes.find((candidate) => candidate === input.type);
  if (type === undefined) throw dataProblem("type", `must be one of ${chartTypes.join(", ")}`);
  return {
    type,
    x: optionalText(input.x),
    y: textsIn(input.y),
    series: optionalText(input.series),
    title: optionalText(input.title) ?? "",
    xTitle: typeof input.x_title === "string" ? input.x_title : undefined,
    yTitle: typeof input.y_title === "string" ? input.y_title : undefined,
    isStacked: typeof input.stacked === "boolean" ? input.stacked : undefined,
    isHorizontal: typeof input.horizontal === "boolean" ? input.horizontal : undefined,
    bins: typeof input.bins === "number" ? input.bins : undefined,
  };
}

export function fileNameOf(title: string): string {
  const slug = title
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .slice(0, 60)
    .replace(/^-+|-+$/g, "");
  return `charts/${slug === "" ? "chart" : slug}.png`;
}

export function optionalText(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}
