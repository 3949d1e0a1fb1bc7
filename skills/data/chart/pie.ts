/** Draws pie charts: slices on the left, and names with values and shares on the right. */
import { titleAndLegend } from "./frame.ts";
import { colorOf, look, picture, rectangle, text } from "./paint.ts";
import { shownNumber } from "./scales.ts";
import type { Typesetter } from "./text.ts";

export interface Slice {
  name: string;
  value: number;
}

const { margin, size, color } = look;
const maxSlices = 10;

/** Sorts slices by size, largest first, and joins the smallest into one. All values must be positive. */
export function joinedSlices(slices: readonly Slice[]): Slice[] {
  const sorted = slices.toSorted((one, other) => other.value - one.value);
  if (sorted.length <= maxSlices) return sorted;
  const rest = sorted.slice(maxSlices - 1);
  const sum = rest.reduce((all, { value }) => all + value, 0);
  return [...sorted.slice(0, maxSlices - 1), { name: `${rest.length} others`, value: sum }];
}

export function drawPie(type: Typesetter, title: string, slices: readonly Slice[]): string {
  const head = titleAndLegend(type, title, []);
  const radius = (look.height - head.room - margin) / 2;
  const center = { x: margin + radius + 20, y: head.room + radius };
  const sum = slices.reduce((all, { value }) => all + value, 0);
  const parts = [...head.parts];
  const shares: string[] = [];
  let from = 0;
  for (const [index, { value }] of slices.entries()) {
    const share = value / sum;
    parts.push(sliceShape(center, radius, from, from + share, colorOf(index)));
    if (share >= 0.06) {
      const angle = 2 * Math.PI * (from + share / 2);
      const [x, y] = [center.x + Math.sin(angle) * radius * 0.7, center.y - Math.cos(angle) * radius * 0.7];
      shares.push(
        text(x, y + size.label * 0.35, percent(share), {
          size: size.label,
          anchor: "middle",
          weight: "bold",
          color: inkOn(colorOf(index)),
        }),
      );
    }
    from += share;
  }
  parts.push(...shares, ...legend(type, slices, sum, { left: center.x + radius + 56, middle: center.y }));
  return picture(look.width, look.height, parts);
}

function legend(
  type: Typesetter,
  slices: readonly Slice[],
  sum: number,
  at: { left: number; middle: number },
): string[] {
  const row = 34;
  const top = at.middle - (row * slices.length) / 2;
  const said = slices.map(({ value }) => `${shownNumber(value)} (${percent(value / sum)})`);
  const saidRoom = Math.max(...said.map((words) => type.width(words, size.legend)));
  const nameRoom = look.width - margin - at.left - 22 - saidRoom - 16;
  return slices.flatMap(({ name }, index) => {
    const y = top + row * index + row / 2;
    return [
      rectangle({ left: at.left, top: y - 7, width: 14, height: 14 }, colorOf(index)),
      text(at.left + 22, y + size.legend * 0.35, type.shortened(name, size.legend, nameRoom), { size: size.legend }),
      text(look.width - margin, y + size.legend * 0.35, said[index] ?? "", {
        size: size.legend,
        color: color.muted,
        anchor: "end",
      }),
    ];
  });
}

/** Draws a slice clockwise from the top. A path can't express a full circle, so it becomes a circle element. */
function sliceShape(
  { x, y }: { x: number; y: number },
  radius: number,
  from: number,
  to: number,
  fill: string,
): string {
  if (to - from > 0.9999) return `<circle cx="${x}" cy="${y}" r="${radius}" fill="${fill}"/>`;
  const point = (share: number) => {
    const angle = 2 * Math.PI * share;
    return `${(x + Math.sin(angle) * radius).toFixed(2)} ${(y - Math.cos(angle) * radius).toFixed(2)}`;
  };
  const isLarge = to - from > 0.5 ? 1 : 0;
  return `<path d="M${x} ${y}L${point(from)}A${radius} ${radius} 0 ${isLarge} 1 ${point(to)}Z" fill="${fill}" stroke="#fff" stroke-width="2"/>`;
}

function percent(share: number): string {
  return `${(share * 100).toLocaleString("en", { maximumFractionDigits: share < 0.1 ? 1 : 0 })}%`;
}

function inkOn(fill: string): string {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => Number.parseInt(fill.slice(at, at + 2), 16));
  return red * 0.299 + green * 0.587 + blue * 0.114 > 150 ? color.text : "#ffffff";
}
