/** Draws bar charts (vertical or horizontal, grouped or stacked) and histograms. */
import {
  bottomTitle,
  bottomTitleRoom,
  categoryAxis,
  scaleAxis,
  sideTitle,
  titleAndLegend,
  valueAxis,
} from "./frame.ts";
import { type Box, colorOf, line, look, picture, rectangle, text } from "./paint.ts";
import type { Series } from "./plot.ts";
import { extent, linearScale, niceStep, type Scale, shownNumber } from "./scales.ts";
import type { Typesetter } from "./text.ts";

export interface BarChart {
  labels: string[];
  series: Series[];
  title: string;
  xTitle: string;
  yTitle: string;
  isStacked: boolean;
  /** If undefined, long labels make the bars horizontal. */
  isHorizontal: boolean | undefined;
}

interface Bar {
  category: number;
  lane: number;
  from: number;
  to: number;
  color: string;
}

const { margin, size, color } = look;
const gap = 0.22;
const maxLabelWidth = 300;
const longLabel = 130;
const maxLabelled = 24;

export function drawBars(type: Typesetter, chart: BarChart): string {
  const { labels, series, isStacked } = chart;
  const bars = isStacked ? stackedBars(series) : sideBySide(series);
  const values = bars.flatMap(({ from, to }) => [from, to]);
  const isLong = labels.length <= 40 && labels.some((label) => type.width(label, size.label) > longLabel);
  const lanes = isStacked ? 1 : series.length;
  const labelled = !isStacked && bars.length <= maxLabelled;
  const drawing = { type, chart, bars, lanes, labelled, values };
  return (chart.isHorizontal ?? isLong) ? lying(drawing) : upright(drawing);
}

interface Drawing {
  type: Typesetter;
  chart: BarChart;
  bars: Bar[];
  lanes: number;
  labelled: boolean;
  values: number[];
}

function upright({ type, chart, bars, lanes, labelled, values }: Drawing): string {
  const head = titleAndLegend(type, chart.title, legendOf(chart.series));
  const scale = linearScale(values, { ticks: 6, hasZero: true });
  const axis = valueAxis(type, scale, chart.yTitle);
  const left = margin + axis.room;
  const width = look.width - margin - left;
  const names = categoryAxis(type, chart.labels, chart.xTitle, { left, width });
  const box = { left, top: head.room, width, height: look.height - head.room - names.room - margin / 2 };
  const band = width / chart.labels.length;
  const thickness = (band * (1 - gap)) / lanes;
  const y = (value: number) => box.top + box.height * (1 - scale.at(value));
  const parts = bars.flatMap((bar) => {
    const at = left + band * (bar.category + gap / 2) + thickness * bar.lane;
    const [top, bottom] = [y(Math.max(bar.from, bar.to)), y(Math.min(bar.from, bar.to))];
    const shape = rectangle({ left: at, top, width: thickness - (lanes > 1 ? 1 : 0), height: bottom - top }, bar.color);
    const label = shownNumber(bar.to);
    if (!labelled || type.width(label, size.value) > thickness + 6) return [shape];
    const place = bar.to < 0 ? bottom + size.value + 2 : top - 5;
    return [shape, text(at + thickness / 2, place, label, { size: size.value, anchor: "middle" })];
  });
  return picture(look.width, look.height, [
    ...head.parts,
    ...axis.draw(box),
    ...parts,
    ...names.draw(box),
    ...zeroLine(scale, box),
  ]);
}

function lying({ type, chart, bars, lanes, labelled, values }: Drawing): string {
  const head = titleAndLegend(type, chart.title, legendOf(chart.series));
  const scale = linearScale(values, { ticks: 6, hasZero: true });
  const labels = chart.labels.map((label) => type.shortened(label, size.label, maxLabelWidth));
  const titleRoom = chart.xTitle === "" ? 0 : size.axisTitle + 12;
  const left = margin + titleRoom + Math.max(...labels.map((label) => type.width(label, size.label))) + 10;
  const valueRoom = labelled ? Math.max(...bars.map(({ to }) => type.width(shownNumber(to), size.value))) + 8 : 10;
  const thickness = Math.min(34, Math.max(lanes > 1 ? 10 : 18, 420 / (chart.labels.length * lanes)));
  const band = (thickness * lanes) / (1 - gap);
  const box = {
    left,
    top: head.room,
    width: look.width - margin - valueRoom - left,
    height: band * chart.labels.length,
  };
  const x = (value: number) => box.left + box.width * scale.at(value);
  const shapes = bars.flatMap((bar) => {
    const top = box.top + band * (bar.category + gap / 2) + thickness * bar.lane;
    const [start, end] = [x(Math.min(bar.from, bar.to)), x(Math.max(bar.from, bar.to))];
    const shape = rectangle(
      { left: start, top, width: end - start, height: thickness - (lanes > 1 ? 1 : 0) },
      bar.color,
    );
    if (!labelled) return [shape];
    return [shape, text(end + 6, top + thickness / 2 + size.value * 0.35, shownNumber(bar.to), { size: size.value })];
  });
  const names = labels.map((label, index) =>
    text(box.left - 9, box.top + band * (index + 0.5) + size.label * 0.35, label, { size: size.label, anchor: "end" }),
  );
  const parts = [
    ...head.parts,
    ...valueLines(type, scale, box),
    ...shapes,
    ...names,
    ...sideTitle(type, chart.xTitle, box),
  ];
  const below = size.label + 14;
  parts.push(...bottomTitle(type, chart.yTitle, box, below));
  return picture(look.width, box.top + box.height + below + bottomTitleRoom(chart.yTitle) + margin / 2, parts);
}

function valueLines(type: Typesetter, scale: Scale, box: Box): string[] {
  const ends = new Set([scale.ticks[0], scale.ticks.at(-1)]);
  const widest = Math.max(...scale.ticks.map(({ label }) => type.width(label, size.label)));
  const every = Math.ceil((widest + 14) / (box.width / Math.max(1, scale.ticks.length - 1)));
  return scale.ticks.flatMap((tick, index) => {
    const x = box.left + box.width * scale.at(tick.value);
    const mark = line(
      x,
      box.top,
      x,
      box.top + box.height,
      tick.value === 0 ? color.axis : color.grid,
      tick.value === 0 ? 1.5 : 1,
    );
    if (index % every !== 0) return [mark];
    const half = type.width(tick.label, size.label) / 2;
    const at = ends.has(tick) ? Math.min(x, look.width - half - 4) : x;
    return [
      mark,
      text(at, box.top + box.height + size.label + 8, tick.label, {
        size: size.label,
        color: color.muted,
        anchor: "middle",
      }),
    ];
  });
}

function sideBySide(series: readonly Series[]): Bar[] {
  return series.flatMap(({ points }, lane) =>
    points.map(({ x, y }) => ({ category: x, lane, from: 0, to: y, color: colorOf(lane) })),
  );
}

function stackedBars(series: readonly Series[]): Bar[] {
  const sums = new Map<string, number>();
  return series.flatMap(({ points }, index) =>
    points.map(({ x, y }) => {
      const key = `${x} ${y < 0}`;
      const from = sums.get(key) ?? 0;
      sums.set(key, from + y);
      return { category: x, lane: 0, from, to: from + y, color: colorOf(index) };
    }),
  );
}

export function legendOf(series: readonly Series[]): { name: string; color: string }[] {
  return series.length < 2 ? [] : series.map(({ name }, index) => ({ name, color: colorOf(index) }));
}

function zeroLine(scale: Scale, { left, top, width, height }: Box): string[] {
  const y = top + height * (1 - scale.at(0));
  return [line(left, y, left + width, y, color.axis, 1.5)];
}

export interface Histogram {
  values: number[];
  bins: number | undefined;
  title: string;
  xTitle: string;
  yTitle: string;
}

export function drawHistogram(type: Typesetter, { values, bins, title, xTitle, yTitle }: Histogram): string {
  const { step, from, counts } = binned(values, bins ?? Math.min(40, Math.max(5, Math.ceil(Math.sqrt(values.length)))));
  const head = titleAndLegend(type, title, []);
  const edges = [from, from + step * counts.length];
  const xScale = exactScale(edges, linearScale(edges, { ticks: 10, hasZero: false }));
  const scale = linearScale(counts, { ticks: 6, hasZero: true });
  const axis = valueAxis(type, scale, yTitle);
  const below = scaleAxis(type, xScale, xTitle);
  const left = margin + axis.room;
  const box = {
    left,
    top: head.room,
    width: look.width - margin - left,
    height: look.height - head.room - below.room - margin / 2,
  };
  const width = box.width / counts.length;
  const bars = counts.map((count, index) => {
    const height = box.height * scale.at(count);
    return rectangle(
      { left: left + width * index + 0.5, top: box.top + box.height - height, width: width - 1, height },
      colorOf(0),
    );
  });
  return picture(look.width, look.height, [...head.parts, ...axis.draw(box), ...bars, ...below.draw(box)]);
}

/** The bins have round edges. The last bin includes its upper edge. */
export function binned(values: readonly number[], wanted: number): { from: number; step: number; counts: number[] } {
  const [low, high] = extent(values);
  const step = low === high ? niceStep(Math.abs(low) / 50 || 1) : niceStep((high - low) / wanted);
  const from = Math.floor(low / step + 1e-9) * step;
  const counts = new Array<number>(Math.max(1, Math.ceil((high - from) / step - 1e-9))).fill(0);
  for (const value of values) {
    const index = Math.min(counts.length - 1, Math.max(0, Math.floor((value - from) / step + 1e-9)));
    counts[index] = (counts[index] ?? 0) + 1;
  }
  return { from, step, counts };
}

function exactScale([from = 0, to = 1]: readonly number[], { ticks }: Scale): Scale {
  return {
    at: (value) => (value - from) / (to - from),
    ticks: ticks.filter(({ value }) => value >= from - 1e-9 && value <= to + 1e-9),
  };
}
