/** SVG elements and their style. Lengths are in SVG units; the PNG has more pixels. */
import { escaped, type Weight } from "./text.ts";

export const look = {
  width: 1_000,
  height: 600,
  margin: 24,
  size: { title: 22, legend: 15, label: 14, value: 13, axisTitle: 15 },
  color: { text: "#1f2328", muted: "#57606a", grid: "#e4e7eb", axis: "#8c959f", background: "#ffffff" },
};

/** Ten colors that most color-blind people can tell apart, then two more. */
const palette = "#4269d0 #efb118 #ff725c #3ca951 #a463f2 #6cc5b0 #ff8ab7 #9c6b4e #97bbf5 #9498a0 #1b7f79 #c2410c".split(
  " ",
);

export function colorOf(index: number): string {
  return palette[index % palette.length] ?? "#4269d0";
}

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

interface TextOptions {
  size: number;
  color?: string;
  anchor?: "start" | "middle" | "end";
  weight?: Weight;
  /** In degrees, around the point (`x`, `y`). */
  rotation?: number;
}

export function text(x: number, y: number, content: string, options: TextOptions): string {
  const { size, color = look.color.text, anchor = "start", weight = "regular", rotation } = options;
  const turned = rotation === undefined ? "" : ` transform="rotate(${rotation} ${place(x)} ${place(y)})"`;
  const bold = weight === "bold" ? ' font-weight="600"' : "";
  return `<text x="${place(x)}" y="${place(y)}" font-size="${size}" fill="${color}" text-anchor="${anchor}"${bold}${turned}>${escaped(content)}</text>`;
}

export function line(x1: number, y1: number, x2: number, y2: number, color: string, width = 1): string {
  return `<line x1="${place(x1)}" y1="${place(y1)}" x2="${place(x2)}" y2="${place(y2)}" stroke="${color}" stroke-width="${width}"/>`;
}

export function rectangle({ left, top, width, height }: Box, color: string): string {
  return `<rect x="${place(left)}" y="${place(top)}" width="${place(Math.max(0, width))}" height="${place(Math.max(0, height))}" fill="${color}"/>`;
}

export function circle(x: number, y: number, radius: number, color: string, opacity = 1): string {
  return `<circle cx="${place(x)}" cy="${place(y)}" r="${radius}" fill="${color}"${opacity === 1 ? "" : ` fill-opacity="${opacity}"`}/>`;
}

export function path(
  points: readonly (readonly [number, number])[],
  options: { stroke?: string; fill?: string; opacity?: number },
): string {
  const { stroke = "none", fill = "none", opacity = 1 } = options;
  const steps = points.map(([x, y], index) => `${index === 0 ? "M" : "L"}${place(x)} ${place(y)}`).join("");
  const closed = fill === "none" ? "" : "Z";
  return `<path d="${steps}${closed}" fill="${fill}" fill-opacity="${opacity}" stroke="${stroke}" stroke-width="2.5" stroke-linejoin="round" stroke-linecap="round"/>`;
}

export function picture(width: number, height: number, parts: readonly string[]): string {
  const background = rectangle({ left: 0, top: 0, width, height }, look.color.background);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${Math.ceil(height)}" font-family="Open Sans">${background}${parts.join("")}</svg>`;
}

function place(value: number): number {
  return Math.round(value * 100) / 100;
}
