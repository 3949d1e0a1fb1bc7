/** Charts: what is drawn, what is refused, and that no text is cut off or lies on another. */
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { binned } from "../../skills/data/chart/bars.ts";
import { drawChart } from "../../skills/data/chart/chart.ts";
import type { ChartRequest } from "../../skills/data/chart/chart-request.ts";
import { readFont } from "../../skills/data/chart/font.ts";
import { joinedSlices } from "../../skills/data/chart/pie.ts";
import { timeOf } from "../../skills/data/chart/plot.ts";
import { linearScale, niceStep, timeScale } from "../../skills/data/chart/scales.ts";
import { createTypesetter, type Typesetter } from "../../skills/data/chart/text.ts";
import plugin from "../../skills/data/plugin.ts";
import type { Rows, Value } from "../../skills/data/rows.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import { runs } from "../faults/share.ts";
import { makePlace, type TestPlace, textOf } from "./place.ts";

const { resolve } = createRequire(import.meta.url);
const fontFile = async (name: string) =>
  new Uint8Array(await readFile(resolve(`@expo-google-fonts/open-sans/${name}`)));
const regular = readFont(await fontFile("400Regular/OpenSans_400Regular.ttf"));
const bold = readFont(await fontFile("600SemiBold/OpenSans_600SemiBold.ttf"));
const typesetter = (): Typesetter => createTypesetter({ regular, bold, others: [] });

const rows = (columns: string[], ...values: Value[][]): Rows => ({
  columns,
  rows: values,
  count: values.length,
  isCounted: true,
});

function draw(data: Rows, request: Partial<ChartRequest> & Pick<ChartRequest, "type">) {
  const usual = { x: undefined, y: [], series: undefined, title: "A title", xTitle: undefined, yTitle: undefined };
  return drawChart(
    data,
    { ...usual, isStacked: undefined, isHorizontal: undefined, bins: undefined, ...request },
    typesetter(),
  );
}

interface DrawnText {
  content: string;
  corners: [number, number][];
  size: number;
}

const attribute = (tag: string, name: string) => new RegExp(`${name}="([^"]*)"`).exec(tag)?.[1] ?? "";
const entities = new Map([
  ["&amp;", "&"],
  ["&lt;", "<"],
  ["&gt;", ">"],
  ["&quot;", '"'],
]);

/** Every text of a picture with the corners of the box it takes. */
function textsOf(svg: string): DrawnText[] {
  const type = typesetter();
  return [...svg.matchAll(/<text ([^>]*)>([^<]*)<\/text>/g)].map(([, tag = "", written = ""]) => {
    const content = written.replace(/&\w+;/g, (entity) => entities.get(entity) ?? entity);
    const [x, y, size] = [
      Number(attribute(tag, " ?x")),
      Number(attribute(tag, " y")),
      Number(attribute(tag, "font-size")),
    ];
    const width = type.width(content, size, tag.includes("font-weight") ? "bold" : "regular");
    const anchor = attribute(tag, "text-anchor");
    const left = anchor === "end" ? -width : anchor === "middle" ? -width / 2 : 0;
    const angle = (Number(/rotate\((-?[\d.]+)/.exec(tag)?.[1] ?? 0) * Math.PI) / 180;
    const corners = [
      [left, -size * 0.75],
      [left + width, -size * 0.75],
      [left + width, size * 0.22],
      [left, size * 0.22],
    ].map(([dx = 0, dy = 0]): [number, number] => [
      x + dx * Math.cos(angle) - dy * Math.sin(angle),
      y + dx * Math.sin(angle) + dy * Math.cos(angle),
    ]);
    return { content, corners, size };
  });
}

function expectAllInside(svg: string): void {
  const [, width = "0", height = "0"] = /width="(\d+)" height="(\d+)"/.exec(svg) ?? [];
  for (const { content, corners } of textsOf(svg)) {
    for (const [x, y] of corners) {
      expect([content, x >= -0.5 && x <= Number(width) + 0.5 && y >= -0.5 && y <= Number(height) + 0.5]).toEqual([
        content,
        true,
      ]);
    }
  }
  expect(svg).not.toMatch(/NaN|Infinity|undefined/);
}

const contents = (svg: string) => textsOf(svg).map(({ content }) => content);
const countOf = (svg: string, tag: string) => svg.split(`<${tag} `).length - 1;
const colorsOf = (svg: string, tag: string) =>
  new Set([...svg.matchAll(new RegExp(`<${tag} [^>]*fill="(#[0-9a-f]{6})"`, "g"))].map(([, color]) => color));

const regions = rows(["region", "revenue", "cost"], ["North", 120.5, 80n], ["South", 90, 100n], ["West", null, 20n]);

describe("a bar chart", () => {
  test("has a bar for every value, its title, axes, values and a legend of its columns", () => {
    const { svg, notes } = draw(regions, { type: "bar", title: "Revenue & cost", yTitle: "Million €" });
    expectAllInside(svg);
    expect(contents(svg)).toEqual(
      expect.arrayContaining([
        "Revenue & cost",
        "revenue",
        "cost",
        "Million €",
        "region",
        "North",
        "South",
        "West",
        "120.5",
        "0",
        "100",
      ]),
    );
    // Five bars, two legend entries and the background.
    expect(countOf(svg, "rect")).toBe(5 + 2 + 1);
    expect(colorsOf(svg, "rect").size).toBe(3);
    expect(notes).toEqual(["1 value is empty and left out"]);
  });

  test("lies when its names are long, and grows with them", () => {
    const names = Array.from(
      { length: 30 },
      (_, index) => [`A rather long name of a product, number ${index}`, index] as Value[],
    );
    const { svg } = draw(rows(["name", "n"], ...names), { type: "bar" });
    expectAllInside(svg);
    expect(Number(/height="(\d+)"/.exec(svg)?.[1])).toBeGreaterThan(600);
    expect(contents(svg)).toContain("A rather long name of a product, number 7");
    expectAllInside(draw(rows(["name", "n"], ...names), { type: "bar", isHorizontal: false }).svg);
  });

  test("stacks upwards from zero, and negative values downwards", () => {
    const data = rows(["x", "a", "b"], ["p", 1, 2], ["q", -1, -2]);
    const heights = (svg: string) =>
      [...svg.matchAll(/<rect [^>]*y="([\d.]+)"[^>]*height="([\d.]+)" fill="#(?:4269d0|efb118)"/g)]
        .map(([, y, height]) => [Number(y), Number(height)] as const)
        .filter(([, height]) => height !== 13);
    const [firstUp, firstDown, secondUp, secondDown] = heights(draw(data, { type: "bar", isStacked: true }).svg);
    expect((secondUp?.[0] ?? 0) + (secondUp?.[1] ?? 0)).toBeCloseTo(firstUp?.[0] ?? -1, 1);
    expect(secondDown?.[0]).toBeCloseTo((firstDown?.[0] ?? 0) + (firstDown?.[1] ?? 0), 1);
  });

  test("of long rows with a series column is the same as of wide ones", () => {
    const long = rows(["m", "kind", "v"], ["Jan", "a", 1], ["Jan", "b", 2], ["Feb", "a", 3]);
    const { svg } = draw(long, { type: "bar", series: "KIND" });
    expect(contents(svg)).toEqual(expect.arrayContaining(["a", "b", "Jan", "Feb", "v"]));
    expect(countOf(svg, "rect")).toBe(3 + 2 + 1);
  });
});

describe("line and area charts", () => {
  test("have an axis of time for dates, of numbers for numbers, of names for names", () => {
    const dates = rows(["day", "v"], ["2026-03-01", 3], ["2026-01-01", 1], ["2026-02-01", 2]);
    expect(contents(draw(dates, { type: "line" }).svg)).toEqual(expect.arrayContaining(["day", "v"]));
    expect(contents(draw(dates, { type: "line" }).svg).some((text) => /^\d+ Jan 2026$|^Jan 2026$/.test(text))).toBe(
      true,
    );
    expect(contents(draw(rows(["year", "v"], [2019n, 1], [2026n, 2]), { type: "line" }).svg)).toContain("2022");
    expect(contents(draw(rows(["n", "v"], [0, 1], [50_000, 2]), { type: "line" }).svg)).toContain("20,000");
    expect(contents(draw(rows(["step", "v"], ["one", 1], ["two", 2]), { type: "line" }).svg)).toEqual(
      expect.arrayContaining(["one", "two"]),
    );
  });

  test("are drawn from left to right, whatever the order of the rows", () => {
    const { svg } = draw(rows(["n", "v"], [3, 1], [1, 2], [2, 3]), { type: "line" });
    const path = /<path d="M([\d.]+) [\d.]+L([\d.]+) [\d.]+L([\d.]+) /.exec(svg)?.slice(1).map(Number) ?? [];
    expect(path).toEqual(path.toSorted((one, other) => one - other));
    expect(path).toHaveLength(3);
  });

  test("break where a name has no value", () => {
    const { svg } = draw(rows(["step", "v"], ["a", 1], ["b", 2], ["c", null], ["d", 3], ["e", 4]), { type: "line" });
    expect(countOf(svg, "path")).toBe(2);
  });

  test("stack areas, so that the upper edge is the sum", () => {
    const data = rows(["n", "a", "b"], [1, 1, 10], [2, 2, 20]);
    expect(contents(draw(data, { type: "area" }).svg)).toContain("25");
    expect(contents(draw(data, { type: "area", isStacked: false }).svg)).not.toContain("25");
  });

  test("show a single point, and a flat line", () => {
    expect(countOf(draw(rows(["n", "v"], [1, 5]), { type: "line" }).svg, "circle")).toBe(1);
    expectAllInside(draw(rows(["n", "v"], [1, 5], [2, 5]), { type: "line" }).svg);
  });
});

describe("the other charts", () => {
  test("scatter: a dot for every row, also several at one place", () => {
    const { svg } = draw(rows(["x", "y", "k"], [1, 2, "a"], [1, 2, "a"], [3, 4, "b"]), {
      type: "scatter",
      series: "k",
    });
    expect(countOf(svg, "circle")).toBe(3);
    expectAllInside(svg);
  });

  test("histogram: counts what lies between round edges", () => {
    const { svg, notes } = draw(rows(["v"], ...[1, 2, 2, 3, 9.5, null].map((value) => [value])), {
      type: "histogram",
      bins: 10,
    });
    expect(contents(svg)).toEqual(expect.arrayContaining(["v", "count", "2"]));
    expect(notes).toEqual(["1 empty values are left out"]);
    expect(binned([0, 1, 1.9, 2, 10], 5)).toEqual({ from: 0, step: 2, counts: [3, 1, 0, 0, 1] });
    expect(binned([5, 5], 10).counts).toEqual([2]);
  });

  test("pie: shares with values, the smallest joined", () => {
    const { svg } = draw(rows(["k", "v"], ["a", 75], ["b", 25]), { type: "pie" });
    expect(contents(svg)).toEqual(expect.arrayContaining(["a", "b", "75 (75%)", "25 (25%)", "75%"]));
    expectAllInside(svg);
    expect(countOf(draw(rows(["k", "v"], ["all", 5]), { type: "pie" }).svg, "circle")).toBe(1);
    const many = Array.from({ length: 15 }, (_, index) => ({ name: `s${index}`, value: index + 1 }));
    const joined = joinedSlices(many);
    expect(joined).toHaveLength(10);
    expect(joined.at(-1)).toEqual({ name: "6 others", value: 21 });
  });
});

describe("what can't be drawn as it is meant is refused, with what to do", () => {
  const wide = rows(
    ["x", ...Array.from({ length: 13 }, (_, index) => `y${index}`)],
    ["a", ...Array.from({ length: 13 }, () => 1)],
  );
  test.each<[string, Rows, Partial<ChartRequest> & Pick<ChartRequest, "type">, RegExp]>([
    ["no rows", rows(["a", "b"]), { type: "bar" }, /no rows/],
    [
      "a column that is not there",
      regions,
      { type: "bar", x: "land" },
      /"land" is not a column.*region, revenue, cost/,
    ],
    ["text instead of numbers", rows(["x", "y"], ["a", "1,5"]), { type: "bar", y: ["y"] }, /\[y\] contains text.*CAST/],
    ["no numbers at all", rows(["x", "y"], ["a", "b"]), { type: "line" }, /no column with numbers/],
    ["several rows for one bar", rows(["x", "y"], ["a", 1], ["a", 2]), { type: "bar" }, /GROUP BY/],
    [
      "too many bars",
      rows(["x", "y"], ...Array.from({ length: 61 }, (_, index) => [`n${index}`, 1] as Value[])),
      { type: "bar" },
      /61 different values.*LIMIT/,
    ],
    ["too many series", wide, { type: "line" }, /13 of them/],
    ["names on a scatter's axis", rows(["x", "y"], ["a", 1]), { type: "scatter" }, /bar chart/],
    ["negative shares", rows(["x", "y"], ["a", -1]), { type: "pie" }, /negative/],
    ["shares of nothing", rows(["x", "y"], ["a", 0]), { type: "pie" }, /zero everywhere/],
    ["two columns of shares", regions, { type: "pie", y: ["revenue", "cost"] }, /must be one column/],
    ["nothing but empty values", rows(["x", "y"], ["a", null]), { type: "bar", y: ["y"] }, /no value in any row/],
    ["a histogram of text", rows(["x"], ["a"]), { type: "histogram" }, /contains text/],
  ])("%s", (_what, data, request, message) => {
    expect(() => draw(data, request)).toThrow(message);
  });
});

describe("scales", () => {
  test("have round steps that read differently, and hold every value", () => {
    const drawn = fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e14, max: 1e14 });
    const value = drawn.map((one) => (Math.abs(one) < 1e-300 ? 0 : one));
    const close = fc
      .tuple(value, fc.double({ noNaN: true, min: 1e-3, max: 1 }))
      .map(([one, step]) => [one, one + step]);
    fc.assert(
      fc.property(
        fc.oneof(fc.array(value, { minLength: 1, maxLength: 20 }), close),
        fc.boolean(),
        (values, hasZero) => {
          const { at, ticks } = linearScale(values, { ticks: 6, hasZero });
          expect(ticks.length).toBeGreaterThan(1);
          expect(ticks.length).toBeLessThan(16);
          expect(new Set(ticks.map(({ label }) => label)).size).toBe(ticks.length);
          for (const one of [...values, ...(hasZero ? [0] : [])]) {
            expect(at(one)).toBeGreaterThanOrEqual(-1e-6);
            expect(at(one)).toBeLessThanOrEqual(1 + 1e-6);
          }
        },
      ),
    );
    expect([0.7, 1, 12, 0.03, 2.4].map(niceStep)).toEqual([1, 1, 20, 0.05, 2.5]);
  });

  test("of time begin with the year and mark what is larger", () => {
    const labels = (from: string, to: string) =>
      timeScale([Date.parse(from), Date.parse(to)], 8).ticks.map(({ label }) => label);
    expect(labels("1990-01-01", "2026-01-01")).toEqual([
      "1990",
      "1995",
      "2000",
      "2005",
      "2010",
      "2015",
      "2020",
      "2025",
    ]);
    expect(labels("2025-10-15", "2026-04-15")).toEqual(["Nov 2025", "Dec", "Jan 2026", "Feb", "Mar", "Apr"]);
    expect(labels("2026-11-20T20:00Z", "2026-11-21T04:00Z")).toEqual([
      "20 Nov 20:00",
      "21:00",
      "22:00",
      "23:00",
      "21 Nov 00:00",
      "01:00",
      "02:00",
      "03:00",
      "04:00",
    ]);
    expect(labels("2026-11-21T10:00:00Z", "2026-11-21T10:00:20Z")[0]).toBe("21 Nov 10:00:00");
    fc.assert(
      fc.property(
        fc.date({ min: new Date("1800-01-01"), max: new Date("2400-01-01"), noInvalidDate: true }),
        fc.integer({ min: 0, max: 4e12 }),
        (from, span) => {
          const { ticks } = timeScale([from.getTime(), from.getTime() + span], 8);
          expect(ticks.length).toBeLessThan(40);
        },
      ),
    );
  });

  test.each([
    ["2026", 1_767_225_600_000],
    ["2026-11", 1_793_491_200_000],
    ["2026-11-21", 1_795_219_200_000],
    ["2026-11-21 12:00", 1_795_262_400_000],
    ["2026-11-21T12:00:00.5Z", 1_795_262_400_500],
    ["2026-11-21T12:00:00+01:00", 1_795_258_800_000],
    ["21.11.2026", undefined],
    ["2026-13-01", undefined],
    ["tomorrow", undefined],
  ])("%s is the time %s", (text, time) => {
    expect(timeOf(text)).toBe(time);
  });
});

test("whatever is drawn, no text is cut off at an edge", () => {
  const name = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.string({ unit: "grapheme", maxLength: 60 }),
    fc.constantFrom(
      "Umsatz",
      "Ein sehr langer Name, der nirgends Platz hat und trotzdem gezeigt werden soll",
      "Привет",
      "W".repeat(80),
      " ",
      "",
    ),
  );
  const value = fc.oneof(fc.integer({ min: -1e6, max: 1e6 }), fc.double(), fc.constant(null));
  const request = fc.record({
    type: fc.constantFrom("bar" as const, "line" as const, "area" as const),
    title: name,
    xTitle: fc.option(name, { nil: undefined }),
    yTitle: fc.option(name, { nil: undefined }),
    isStacked: fc.option(fc.boolean(), { nil: undefined }),
    isHorizontal: fc.option(fc.boolean(), { nil: undefined }),
  });
  const data = fc
    .uniqueArray(name, { maxLength: 40, minLength: 1, selector: (one) => one.replace(/\s+/g, " ").trim() })
    .chain((names) =>
      fc.tuple(
        fc.constant(names),
        fc.array(fc.tuple(value, value, value), { minLength: names.length, maxLength: names.length }),
        fc.tuple(name, name, name),
      ),
    );
  fc.assert(
    fc.property(request, data, (wanted, [names, values, columns]) => {
      const table = rows(
        ["x", ...columns.map((column, index) => `${column}${index}`)],
        ...names.map((one, index) => [one, ...(values[index] ?? [])]),
      );
      let svg = "";
      try {
        svg = draw(table, wanted).svg;
      } catch (thrown) {
        expect(thrown).toMatchObject({ name: "RemoraError" });
        return;
      }
      expectAllInside(svg);
    }),
    { numRuns: runs(200) },
  );
});

test("texts are shortened to their room, by whole characters", () => {
  const type = typesetter();
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 50 }), fc.integer({ min: 20, max: 300 }), (text, room) => {
      const shown = type.shortened(text, 14, room);
      expect(type.width(shown, 14)).toBeLessThanOrEqual(Math.max(room, type.width("…", 14)));
      expect(shown === text || shown.endsWith("…")).toBe(true);
      expect(shown.isWellFormed()).toBe(text.isWellFormed() || shown.isWellFormed());
    }),
  );
  expect(type.wrap("one two three", 14, 60, 2)).toEqual(["one two", "three"]);
  expect(type.wrap("one two three four five six seven", 14, 60, 2)[1]).toMatch(/…$/);
  expect(type.wrap("", 14, 60, 2)).toEqual([]);
});

describe("through the plugin", () => {
  let place: TestPlace;
  beforeAll(async () => {
    place = await makePlace();
    await writeFile(join(place.workingFolder, "sales.csv"), "region,amount\nNorth,12.5\nSouth,7\n東京,9\n");
  });
  afterAll(() => place.remove());
  const chart = async (input: JsonObject, config: JsonObject = { fonts: [] }) =>
    await plugin.execute(
      "data_chart",
      { files: ["sales.csv"], type: "bar", ...input },
      place.context("data", { config }),
    );

  test("a picture is a PNG in the working folder, and one of the answer's files", async () => {
    const result = await chart({
      title: "Sales, by region!",
      sql: "SELECT region, amount FROM sales WHERE region < 'T'",
    });
    expect(result).toMatchObject({
      ...{
        success: true,
        files: [{ name: "sales-by-region.png", path: "charts/sales-by-region.png", mimeType: "image/png" }],
      },
      output: expect.stringMatching(
        /^Written to charts\/sales-by-region\.png \([\d.]+ KiB\)\. The person sees it.*\n\n2 rows of region, amount$/s,
      ),
    });
    const png = await readFile(join(place.workingFolder, "charts/sales-by-region.png"));
    expect(png.subarray(0, 8).toString("latin1")).toBe("\x89PNG\r\n\x1a\n");
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([1_600, 960]);
    expect(png.length).toBeGreaterThan(10_000);
    expect(textOf(await chart({ title: "Sales, by region!" }))).toContain("Written to charts/sales-by-region-2.png");
    const again = { save_as: "charts/sales-by-region-2.png" };
    expect(textOf(await chart(again))).toContain("Replaced charts/sales-by-region-2.png");
  });

  test("signs that no font has are said", async () => {
    expect(textOf(await chart({ save_as: "a/b.png" }))).toMatch(
      /no font here has 東 京.*skills\.settings\.data\.fonts/,
    );
    const noFont = join(place.root, "no-font.ttf");
    await writeFile(noFont, "no font");
    expect(textOf(await chart({}, { fonts: [noFont, "/nowhere.ttf"] }))).toContain("no font here has 東 京");
  });

  test("what is wrong leaves no file", async () => {
    for (const [input, message] of [
      [{ save_as: "out.svg" }, "must end in .png"],
      [{ save_as: "../out.png" }, "outside of the working folder"],
      [{ sql: "SELECT nope FROM sales" }, "no such column"],
      [{ y: ["region"] }, "contains text"],
      [{ type: "pie", sql: "SELECT region, -1 FROM sales" }, "negative"],
    ] as const) {
      expect(textOf(await chart(input as JsonObject))).toContain(message);
    }
    await expect(readFile(join(place.workingFolder, "out.svg"))).rejects.toThrow("ENOENT");
  });
});
