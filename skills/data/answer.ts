/** Reads data files and answers one request. Runs in an isolated process; see data-process.ts. */
import { readFileSync } from "node:fs";
import { RemoraError } from "../../src/plugin-sdk/errors.ts";
import { type Data, openData, select } from "./database.ts";
import { describeData, noteOf } from "./describe.ts";
import { quoted } from "./names.ts";
import { dataProblem } from "./problem.ts";
import type { DataAnswer, DataRequest } from "./requests.ts";
import type { Rows } from "./rows.ts";
import { number, rowsAsFile, rowsAsText } from "./show.ts";
import type { Table } from "./tables.ts";

const maxSavedRows = 500_000;
const maxDrawnRows = 50_000;
const maxNotes = 8;

export async function answerData(request: DataRequest): Promise<DataAnswer> {
  try {
    return await answer(request);
  } catch (thrown) {
    if (thrown instanceof RemoraError) return { type: "problem", text: thrown.message };
    throw thrown;
  }
}

async function answer(request: DataRequest): Promise<DataAnswer> {
  const data = await openData(request.source);
  switch (request.type) {
    case "describe":
      return { type: "text", text: await describeData(data) };
    case "query": {
      const { sql, save } = request;
      const rows = await select(data, sql, save === undefined ? request.rows : maxSavedRows);
      const shown = { ...rows, rows: rows.rows.slice(0, request.rows) };
      const text = withNotes(rowsAsText(shown), notesFor(data.tables, sql));
      if (save === undefined) return { type: "text", text };
      if (rows.count > rows.rows.length) {
        throw dataProblem(
          "save_as",
          `would need ${number(rows.count)} rows; the limit is ${number(maxSavedRows)}: narrow it down`,
        );
      }
      const content = new TextEncoder().encode(rowsAsFile(rows, save));
      return { type: "saved", text, content, rows: rows.rows.length };
    }
    case "chart":
      return await chart(request, data);
    default:
      return request satisfies never;
  }
}

async function chart(request: Extract<DataRequest, { type: "chart" }>, data: Data): Promise<DataAnswer> {
  // Load the chart code on demand, because loading takes longer than a query.
  const { drawChart } = await import("./chart/chart.ts");
  const { createRenderer, startRendering } = await import("./chart/render.ts");
  const sql = request.sql ?? `SELECT * FROM ${quoted(data.tables[0]?.name ?? "")}`;
  const rows = await select(data, sql, maxDrawnRows);
  await startRendering();
  const draw = (fonts: readonly Uint8Array[]) => {
    const { type, png } = createRenderer(fonts);
    const { svg, notes } = drawChart(rows, request.chart, type);
    const missing = type.missing();
    // Replace characters that no font has, because they would hide other parts of the text.
    const drawable = missing.reduce((all, sign) => all.replaceAll(sign, "\ufffd"), svg);
    return { svg: drawable, notes, png, missing };
  };
  const first = draw([]);
  // Load other fonts only now, because they are large and rarely needed.
  const drawn =
    first.missing.length > 0 && request.fonts.length > 0
      ? draw(request.fonts.map((font) => readFileSync(font)))
      : first;
  const notes = [...cutNote(rows), ...drawn.notes, ...missingNote(drawn.missing), ...notesFor(data.tables, sql)];
  const text = withNotes(
    `${number(rows.count)} ${rows.count === 1 ? "row" : "rows"} of ${rows.columns.join(", ")}`,
    notes,
  );
  return { type: "picture", text, png: drawn.png(drawn.svg) };
}

function cutNote({ rows, count }: Rows): string[] {
  return count > rows.length ? [`only the first ${number(rows.length)} of ${number(count)} rows are drawn`] : [];
}

function missingNote(missing: readonly string[]): string[] {
  if (missing.length === 0) return [];
  const signs = missing.slice(0, 20).join(" ");
  return [
    `no font here has ${signs}, so the chart shows � instead; an operator can add fonts as skills.settings.data.fonts`,
  ];
}

function notesFor(tables: readonly Table[], sql: string): string[] {
  const asked = sql.toLowerCase();
  return tables
    .flatMap(({ file, notes, columns }) => [
      ...notes.map((note) => `${file}: ${note}`),
      ...columns.filter(({ name }) => asked.includes(name.toLowerCase())).flatMap(noteOf),
    ])
    .slice(0, maxNotes);
}

function withNotes(text: string, notes: readonly string[]): string {
  return notes.length === 0 ? text : `${text}\n\n${notes.map((note) => `- ${note}`).join("\n")}`;
}
