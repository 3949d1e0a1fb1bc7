/** Draws what surrounds a plot: title, legend and axes. Each function returns the space that its part takes. */
import { type Box, line, look, rectangle, text } from "./paint.ts";
import type { Scale } from "./scales.ts";
import type { Typesetter } from "./text.ts";

export interface Piece {
  parts: string[];
  /** The space that this piece takes: its height, or its width if it is beside the plot. */
  room: number;
}

const { margin, size, color } = look;
const swatch = 13;
const maxLegendWidth = 240;

export function titleAndLegend(
  type: Typesetter,
  title: string,
  entries: readonly { name: string; color: string }[],
): Piece {
  const room = look.width - 2 * margin;
  const parts: string[] = [];
  let top = margin;
  for (const words of type.wrap(title, size.title, room, 2, "bold")) {
    top += size.title;
    parts.push(text(margin, top, words, { size: size.title, weight: "bold" }));
    top += 8;
  }
  if (entries.length > 0) {
    top += 8;
    let left = margin;
    for (const entry of entries) {
      const name = type.shortened(entry.name, size.legend, maxLegendWidth);
      const width = swatch + 7 + type.width(name, size.legend);
      if (left > margin && left + width > look.width - margin) {
        left = margin;
        top += size.legend + 9;
      }
      parts.push(rectangle({ left, top: top + 2, width: swatch, height: swatch }, entry.color));
      parts.push(text(left + swatch + 7, top + size.legend - 1, name, { size: size.legend }));
      left += width + 22;
    }
    top += size.legend + 4;
  }
  return { parts, room: top + 20 };
}

export function valueAxis(type: Typesetter, scale: Scale, title: string): { room: number; draw(box: Box): string[] } {
  const widest = Math.max(...scale.ticks.map(({ label }) => type.width(label, size.label)));
  const titleRoom = title === "" ? 0 : size.axisTitle + 12;
  return {
    room: widest + 10 + titleRoom,
    draw(box) {
      const parts = scale.ticks.flatMap(({ value, label }) => {
        const y = box.top + box.height * (1 - scale.at(value));
        const isZero = value === 0;
        return [
          line(box.left, y, box.left + box.width, y, isZero ? color.axis : color.grid, isZero ? 1.5 : 1),
          text(box.left - 9, y + size.label * 0.35, label, { size: size.label, color: color.muted, anchor: "end" }),
        ];
      });
      return [...parts, ...sideTitle(type, title, box)];
    },
  };
}

export function sideTitle(type: Typesetter, title: string, box: Box): string[] {
  if (title === "") return [];
  const words = type.shortened(title, size.axisTitle, box.height);
  const [x, y] = [margin + size.axisTitle * 0.8, box.top + box.height / 2];
  return [text(x, y, words, { size: size.axisTitle, color: color.muted, anchor: "middle", rotation: -90 })];
}

export function scaleAxis(type: Typesetter, scale: Scale, title: string): { room: number; draw(box: Box): string[] } {
  return {
    room: size.label + 14 + bottomTitleRoom(title),
    draw(box) {
      let free = Number.NEGATIVE_INFINITY;
      const parts = scale.ticks.flatMap(({ value, label }) => {
        const x = box.left + box.width * scale.at(value);
        const half = type.width(label, size.label) / 2;
        const at = Math.min(Math.max(x, half + 4), look.width - half - 4);
        if (at - half < free) return [];
        free = at + half + 12;
        const y = box.top + box.height;
        const mark = line(x, y, x, y + 5, color.axis);
        return [mark, text(at, y + size.label + 9, label, { size: size.label, color: color.muted, anchor: "middle" })];
      });
      const base = line(box.left, box.top + box.height, box.left + box.width, box.top + box.height, color.axis, 1.5);
      return [base, ...parts, ...bottomTitle(type, title, box, size.label + 14)];
    },
  };
}

const slope = { degrees: -40, cosine: Math.cos((40 * Math.PI) / 180), sine: Math.sin((40 * Math.PI) / 180) };
const maxSlopedWidth = 190;

/** Draws names below a plot on one line if they fit, else on two lines or sloped. Omits some if there are too many. */
export function categoryAxis(
  type: Typesetter,
  labels: readonly string[],
  title: string,
  box: Pick<Box, "left" | "width">,
): { room: number; draw(box: Box): string[] } {
  const band = box.width / labels.length;
  const isFlat = labels.every((label) => type.width(label, size.label) <= band - 10);
  const wrapped = labels.map((label) => type.wrap(label, size.label, band - 10, 2));
  const isWrapped = labels.every((label, index) => wrapped[index]?.join(" ") === label);
  const every = Math.ceil(20 / band);
  const middle = (index: number, left: number) => left + band * (index + 0.5);
  const lineHeight = size.label + 4;
  if (isFlat || isWrapped) {
    const lines = isFlat ? labels.map((label) => [label]) : wrapped;
    const room = lineHeight * Math.max(...lines.map(({ length }) => length)) + 12;
    return {
      room: room + bottomTitleRoom(title),
      draw: (plot) => [
        ...lines.flatMap((words, index) =>
          words.map((word, row) =>
            text(middle(index, plot.left), plot.top + plot.height + size.label + 8 + row * lineHeight, word, {
              ...{ size: size.label, color: color.muted, anchor: "middle" },
            }),
          ),
        ),
        ...bottomTitle(type, title, plot, room),
      ],
    };
  }
  const shown = labels.map((label, index) => {
    const toEdge = (middle(index, box.left) - 6) / slope.cosine;
    return index % every === 0 ? type.shortened(label, size.label, Math.min(maxSlopedWidth, toEdge)) : "";
  });
  const room = Math.max(...shown.map((label) => type.width(label, size.label))) * slope.sine + size.label + 12;
  return {
    room: room + bottomTitleRoom(title),
    draw: (plot) => [
      ...shown.flatMap((label, index) =>
        label === ""
          ? []
          : [
              text(middle(index, plot.left) + 4, plot.top + plot.height + size.label + 4, label, {
                ...{ size: size.label, color: color.muted, anchor: "end", rotation: slope.degrees },
              }),
            ],
      ),
      ...bottomTitle(type, title, plot, room),
    ],
  };
}

export function bottomTitleRoom(title: string): number {
  return title === "" ? 0 : size.axisTitle + 10;
}

export function bottomTitle(type: Typesetter, title: string, box: Box, below: number): string[] {
  if (title === "") return [];
  const words = type.shortened(title, size.axisTitle, box.width);
  const y = box.top + box.height + below + size.axisTitle;
  return [text(box.left + box.width / 2, y, words, { size: size.axisTitle, color: color.muted, anchor: "middle" })];
}
