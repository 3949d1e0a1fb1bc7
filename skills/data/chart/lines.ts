/** Draws line, area and scatter charts over numbers, times or names. */
import { legendOf } from "./bars.ts";
import { categoryAxis, scaleAxis, titleAndLegend, valueAxis } from "./frame.ts";
import { circle, colorOf, look, path, picture } from "./paint.ts";
import type { Plot, Point, Series } from "./plot.ts";
import { extent, linearScale, type Scale, timeScale } from "./scales.ts";
import type { Typesetter } from "./text.ts";

export interface LineChart {
  plot: Plot;
  kind: "line" | "area" | "scatter";
  isStacked: boolean;
  title: string;
  xTitle: string;
  yTitle: string;
}

interface Layer {
  name: string;
  points: (Point & { from: number })[];
}

const { margin } = look;
const maxDots = 40;

export function drawLines(type: Typesetter, chart: LineChart): string {
  const { plot, kind, title, xTitle, yTitle } = chart;
  const layers = kind === "area" && chart.isStacked ? stacked(plot.series) : plot.series.map(flat);
  const values = layers.flatMap(({ points }) => points.flatMap(({ y, from }) => (kind === "area" ? [y, from] : [y])));
  const scale = linearScale(values, { ticks: 6, hasZero: kind === "area" || isNearZero(values) });
  const head = titleAndLegend(type, title, legendOf(plot.series));
  const axis = valueAxis(type, scale, yTitle);
  const left = margin + axis.room;
  const width = look.width - margin - left;
  const across = acrossOf(type, plot, xTitle, { left, width });
  const box = { left, top: head.room, width, height: look.height - head.room - across.room - margin / 2 };
  const place = (x: number, y: number) =>
    [left + width * across.at(x), box.top + box.height * (1 - scale.at(y))] as const;
  const isNamed = plot.x.kind === "category";
  const parts = layers.map(({ points }, index) => marksOf(kind, points, colorOf(index), place, isNamed));
  // The first series comes first in the legend but is drawn last, on top of the others.
  const marks = parts.reverse().flat();
  return picture(look.width, look.height, [...head.parts, ...axis.draw(box), ...across.draw(box), ...marks]);
}

function acrossOf(type: Typesetter, { x, series }: Plot, title: string, room: { left: number; width: number }) {
  if (x.kind === "category") {
    const { labels } = x;
    return { ...categoryAxis(type, labels, title, room), at: (index: number) => (index + 0.5) / labels.length };
  }
  const values = series.flatMap(({ points }) => points.map((point) => point.x));
  const scale =
    x.kind === "time"
      ? timeScale(padded(values), 8)
      : linearScale(values, { ticks: 9, hasZero: false, isPlain: x.isPlain });
  return { ...scaleAxis(type, scale, title), at: (value: number) => scale.at(value) };
}

function padded(values: readonly number[]): Scale["ticks"][number]["value"][] {
  const [low, high] = extent(values);
  const edge = (high - low) * 0.015;
  return [low - edge, high + edge];
}

function isNearZero(values: readonly number[]): boolean {
  const [low, high] = extent(values);
  return low >= 0 && low < high * 0.35;
}

function marksOf(
  kind: LineChart["kind"],
  points: Layer["points"],
  color: string,
  place: (x: number, y: number) => readonly [number, number],
  isNamed: boolean,
): string[] {
  if (kind === "scatter") {
    const radius = points.length > 2_000 ? 2.2 : points.length > 300 ? 3.2 : 4.5;
    return points.map(({ x, y }) => circle(...place(x, y), radius, color, 0.65));
  }
  return runsOf(points, isNamed).flatMap((run) => {
    const upper = run.map(({ x, y }) => place(x, y));
    const surface = [...upper, ...run.map(({ x, from }) => place(x, from)).reverse()];
    const shapes = kind === "area" ? [path(surface, { fill: color, opacity: 0.45 })] : [];
    const dots = points.length <= maxDots || run.length === 1 ? upper.map(([x, y]) => circle(x, y, 3.8, color)) : [];
    return [...shapes, path(upper, { stroke: color }), ...dots];
  });
}

function runsOf(points: Layer["points"], isNamed: boolean): Layer["points"][] {
  if (!isNamed) return [points];
  const runs: Layer["points"][] = [];
  for (const point of points.toSorted((one, other) => one.x - other.x)) {
    const run = runs.at(-1);
    if (run !== undefined && run.at(-1)?.x === point.x - 1) run.push(point);
    else runs.push([point]);
  }
  return runs;
}

function flat({ name, points }: Series): Layer {
  return { name, points: points.map((point) => ({ ...point, from: 0 })) };
}

/** If a series has no value at some `x`, it counts as zero there. */
function stacked(series: readonly Series[]): Layer[] {
  const places = [...new Set(series.flatMap(({ points }) => points.map(({ x }) => x)))].sort(
    (one, other) => one - other,
  );
  const sums = new Map<number, number>();
  return series.map(({ name, points }) => {
    const values = new Map(points.map(({ x, y }) => [x, y]));
    const own = places.map((x) => {
      const from = sums.get(x) ?? 0;
      const y = from + (values.get(x) ?? 0);
      sums.set(x, y);
      return { x, y, from };
    });
    return { name, points: own };
  });
}
