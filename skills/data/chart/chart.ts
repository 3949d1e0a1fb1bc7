/** Draws a query's rows as an SVG chart, with notes for its reader. */
import { dataProblem } from "../problem.ts";
import type { Rows } from "../rows.ts";
import { drawBars, drawHistogram } from "./bars.ts";
import type { ChartRequest } from "./chart-request.ts";
import { drawLines } from "./lines.ts";
import { drawPie, joinedSlices } from "./pie.ts";
import { columnIndex, numberIn, type Plot, plotOf } from "./plot.ts";
import type { Typesetter } from "./text.ts";

export interface Drawing {
  svg: string;
  notes: string[];
}

export function drawChart(data: Rows, request: ChartRequest, type: Typesetter): Drawing {
  if (request.type === "histogram") return histogram(data, request, type);
  const plot = plotOf(data, request);
  const titles = { title: request.title, xTitle: request.xTitle ?? plot.xName, yTitle: request.yTitle ?? plot.yName };
  switch (request.type) {
    case "bar": {
      const labels = plot.x.kind === "category" ? plot.x.labels : [];
      const { isHorizontal, isStacked = false } = request;
      return {
        svg: drawBars(type, { labels, series: plot.series, ...titles, isStacked, isHorizontal }),
        notes: plot.notes,
      };
    }
    case "pie":
      return pie(plot, request, type);
    case "line":
    case "area":
    case "scatter": {
      const isStacked = request.isStacked ?? true;
      return { svg: drawLines(type, { plot, kind: request.type, isStacked, ...titles }), notes: plot.notes };
    }
    default:
      return request.type satisfies never;
  }
}

function pie({ x, series, notes, yName }: Plot, { title, yTitle }: ChartRequest, type: Typesetter): Drawing {
  const labels = x.kind === "category" ? x.labels : [];
  const points = series.flatMap((one) => one.points);
  if (points.some(({ y }) => y < 0))
    throw dataProblem("y", "has negative values, which can't be shares of a whole: use a bar chart");
  const slices = points.filter(({ y }) => y > 0).map((point) => ({ name: labels[point.x] ?? "", value: point.y }));
  if (slices.length === 0) throw dataProblem("y", "is zero everywhere: there are no shares to draw");
  const joined = joinedSlices(slices);
  const said =
    slices.length > joined.length ? [`the ${slices.length - joined.length + 1} smallest slices are joined`] : [];
  return { svg: drawPie(type, title || yTitle || yName, joined), notes: [...notes, ...said] };
}

function histogram(data: Rows, { x, y, bins, title, xTitle, yTitle }: ChartRequest, type: Typesetter): Drawing {
  const name = x ?? y[0] ?? data.columns[0] ?? "";
  const index = columnIndex(data, name, "x");
  const values = data.rows.flatMap((row) => numberIn(row[index] ?? null, name) ?? []);
  if (values.length === 0) throw dataProblem(name, "contains no numbers: there is nothing to count");
  const missing = data.rows.length - values.length;
  const svg = drawHistogram(type, { values, bins, title, xTitle: xTitle ?? name, yTitle: yTitle ?? "count" });
  return { svg, notes: missing === 0 ? [] : [`${missing} empty values are left out`] };
}
