/** Converts the rows of a query to the content of a chart. Errors say what to change in the query. */
import { dataProblem } from "../problem.ts";
import type { Rows, Value } from "../rows.ts";
import type { ChartRequest } from "./chart-request.ts";

export interface Point {
  /** A category index, a number, or milliseconds since 1970. */
  x: number;
  y: number;
}

export interface Series {
  name: string;
  points: Point[];
}

export interface Plot {
  x: { kind: "category"; labels: string[] } | { kind: "number"; isPlain: boolean } | { kind: "time" };
  xName: string;
  /** Empty if several columns are drawn, because each has its own name. */
  yName: string;
  series: Series[];
  notes: string[];
}

const most = { series: 12, categories: 60, points: 20_000 };

export function plotOf(data: Rows, request: ChartRequest): Plot {
  if (data.rows.length === 0) throw dataProblem("sql", "returns no rows: there is nothing to draw");
  const { xIndex, yIndexes, seriesIndex } = columnsOf(data, request);
  const raw = rawPoints(data, xIndex, yIndexes, seriesIndex);
  const x = xOf(
    raw.map((point) => point.x),
    request,
  );
  const labels = new Map<string, number>();
  const series = new Map<string, Point[]>();
  let dropped = 0;
  for (const point of raw) {
    const at = placeOf(point.x, x.kind, labels);
    if (at === undefined || point.y === null) {
      dropped += 1;
      continue;
    }
    const points = series.get(point.series) ?? [];
    points.push({ x: at, y: point.y });
    series.set(point.series, points);
  }
  const notes = dropped === 0 ? [] : [`${dropped} ${dropped === 1 ? "value is" : "values are"} empty and left out`];
  const all = [...series].map(([name, points]): Series => ({ name, points }));
  check(all, labels.size, request);
  const [only = 0] = yIndexes;
  const yName = yIndexes.length === 1 ? (data.columns[only] ?? "") : "";
  const named = { xName: data.columns[xIndex] ?? "", yName, notes };
  if (x.kind === "category") return { ...named, x: { kind: "category", labels: [...labels.keys()] }, series: all };
  return { ...named, x, series: all.map(inOrder) };
}

export function columnIndex({ columns }: Rows, name: string, option: string): number {
  const exact = columns.indexOf(name);
  const index = exact >= 0 ? exact : columns.findIndex((column) => column.toLowerCase() === name.toLowerCase());
  if (index < 0)
    throw dataProblem(option, `"${name}" is not a column of the result; the columns are ${columns.join(", ")}`);
  return index;
}

/** Returns undefined if there is no value. Throws if the value is text. */
export function numberIn(value: Value, column: string): number | undefined {
  if (value === null) return undefined;
  const number = typeof value === "bigint" ? Number(value) : value;
  // Limit the range of numbers, because computing the scales would overflow beyond it.
  if (typeof number === "number" && Math.abs(number) < 1e-300) return 0;
  if (typeof number === "number") return Math.abs(number) < 1e300 ? number : undefined;
  throw dataProblem(column, "contains text instead of numbers: use CAST(… AS REAL) in sql, or another column");
}

function columnsOf(data: Rows, { x, y, series, type }: ChartRequest) {
  const { columns, rows } = data;
  const seriesIndex = series === undefined ? undefined : columnIndex(data, series, "series");
  const xIndex =
    x === undefined ? columns.findIndex((_column, index) => index !== seriesIndex) : columnIndex(data, x, "x");
  const isNumeric = (index: number) =>
    rows.some((row) => typeof row[index] === "number" || typeof row[index] === "bigint") &&
    rows.every((row) => typeof row[index] !== "string");
  const free = columns.flatMap((_column, index) =>
    index !== xIndex && index !== seriesIndex && isNumeric(index) ? [index] : [],
  );
  const isSingle = type === "pie" || type === "scatter" || seriesIndex !== undefined;
  const yIndexes = y.length > 0 ? y.map((name) => columnIndex(data, name, "y")) : isSingle ? free.slice(0, 1) : free;
  if (xIndex < 0 || yIndexes.length === 0)
    throw dataProblem("y", `no column with numbers is left for it; the columns are ${columns.join(", ")}`);
  if (yIndexes.length > 1 && (type === "pie" || seriesIndex !== undefined))
    throw dataProblem("y", "must be one column here: the values already have names");
  return { xIndex, yIndexes, seriesIndex };
}

interface RawPoint {
  x: Value;
  y: number | null;
  series: string;
}

function rawPoints(
  { columns, rows }: Rows,
  xIndex: number,
  yIndexes: number[],
  seriesIndex: number | undefined,
): RawPoint[] {
  return rows.flatMap((row) =>
    yIndexes.map((index) => ({
      x: row[xIndex] ?? null,
      y: numberIn(row[index] ?? null, columns[index] ?? "") ?? null,
      series: seriesIndex === undefined ? (columns[index] ?? "") : nameOf(row[seriesIndex] ?? null),
    })),
  );
}

function xOf(
  values: readonly Value[],
  { type }: ChartRequest,
): { kind: "category" } | { kind: "number"; isPlain: boolean } | { kind: "time" } {
  if (type === "bar" || type === "pie") return { kind: "category" };
  const present = values.filter((value) => value !== null);
  if (present.every((value) => typeof value === "number" || typeof value === "bigint")) {
    return {
      kind: "number",
      isPlain: present.every((value) => Number.isInteger(Number(value)) && value >= 1000 && value < 3000),
    };
  }
  if (present.every((value) => typeof value === "string" && timeOf(value) !== undefined)) return { kind: "time" };
  if (type === "scatter")
    throw dataProblem("x", "must be a column of numbers or dates (2026-11-21) here; for names use a bar chart");
  return { kind: "category" };
}

function placeOf(value: Value, kind: Plot["x"]["kind"], labels: Map<string, number>): number | undefined {
  switch (kind) {
    case "category": {
      const label = nameOf(value);
      const index = labels.get(label) ?? labels.size;
      labels.set(label, index);
      return index;
    }
    case "time":
      return typeof value === "string" ? timeOf(value) : undefined;
    case "number":
      return value === null ? undefined : Number(value);
    default:
      return kind satisfies never;
  }
}

/** Parses ISO 8601 dates and times; a space may replace the `T`. A time without a zone is UTC. */
export function timeOf(text: string): number | undefined {
  const [, date, clock = "", zone = ""] =
    /^(\d{4}(?:-\d\d(?:-\d\d)?)?)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?(Z|[+-]\d\d:?\d\d)?$/.exec(text.trim()) ?? [];
  if (date === undefined) return undefined;
  const time = Date.parse(clock === "" ? date : `${date}T${clock}${zone === "" ? "Z" : zone}`);
  return Number.isNaN(time) ? undefined : time;
}

function nameOf(value: Value): string {
  if (value === null) return "(empty)";
  if (value instanceof Uint8Array) return "(bytes)";
  const text = String(value).replace(/\s+/g, " ").trim();
  return text === "" ? "(empty)" : text.slice(0, 300);
}

function check(series: readonly Series[], categories: number, { type }: ChartRequest): void {
  const points = series.reduce((sum, one) => sum + one.points.length, 0);
  if (points === 0) throw dataProblem("y", "has no value in any row: there is nothing to draw");
  if (points > most.points)
    throw dataProblem("sql", `returns ${points} points; the limit is ${most.points}: group or sample them`);
  if (series.length > most.series) {
    throw dataProblem(
      "series",
      `there would be ${series.length} of them; people can tell at most ${most.series} apart: keep the largest and join the others in sql`,
    );
  }
  if (type === "bar" && categories > most.categories) {
    throw dataProblem(
      "x",
      `has ${categories} different values; at most ${most.categories} bars are readable: use LIMIT, group them, or draw a line`,
    );
  }
  if (type === "scatter") return;
  for (const { name, points: own } of series) {
    const places = new Set(own.map(({ x }) => x));
    if (places.size < own.length)
      throw dataProblem("sql", `several rows of ${name} have the same x: use GROUP BY to get one value for each`);
  }
}

function inOrder({ name, points }: Series): Series {
  return { name, points: points.toSorted((one, other) => one.x - other.x) };
}
