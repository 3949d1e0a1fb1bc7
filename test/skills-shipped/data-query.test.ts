/** data_query and data_describe over files on disk, through the plugin and the process that does its work. */
import { link, mkdir, open, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { answerData } from "../../skills/data/answer.ts";
import plugin from "../../skills/data/plugin.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import { isOk, makePlace, type TestPlace, textOf } from "./place.ts";

let place: TestPlace;
beforeAll(async () => {
  place = await makePlace();
});
afterAll(() => place.remove());

let count = 0;
/** A new file with its table's name; the name of a file begins with a letter. */
async function file(content: string | Uint8Array, ending = "csv"): Promise<{ path: string; table: string }> {
  count += 1;
  const table = `t${count}`;
  await writeFile(join(place.workingFolder, `${table}.${ending}`), content);
  return { path: `${table}.${ending}`, table };
}

async function call(tool: string, input: JsonObject, config: JsonObject = {}, signal = new AbortController().signal) {
  const result = await plugin.execute(tool, input, place.context("data", { config, signal }));
  return { isOk: isOk(result), text: textOf(result) };
}

/** What the process of a call does, in this one: hundreds of processes would take minutes. */
async function query(
  content: string | Uint8Array,
  sql: (table: string) => string,
  { delimiter, header = true, skipped = 0, rows = 50 }: Reading = {},
  ending = "csv",
): Promise<{ isOk: boolean; text: string }> {
  const { path, table } = await file(content, ending);
  await using handle = await open(join(place.workingFolder, path));
  const { size } = await handle.stat();
  const format = ending === "jsonl" ? "json-lines" : ending === "json" ? "json" : "csv";
  const answer = await answerData({
    ...{ type: "query", sql: sql(table), rows, save: undefined },
    source: {
      files: [{ name: path, descriptor: handle.fd, size, format }],
      csv: { hasHeader: header, skippedLines: skipped, ...(delimiter === undefined ? {} : { delimiter }) },
    },
  });
  return { isOk: answer.type === "text", text: answer.text };
}

interface Reading {
  delimiter?: string;
  header?: boolean;
  skipped?: number;
  rows?: number;
}

/** Rows of the table in an answer, as texts. */
function rowsOf(text: string): string[][] {
  const lines = text.split("\n").filter((line) => line.startsWith("| "));
  return lines.slice(2).map((line) => line.slice(2, -2).split(" | "));
}

const all = (table: string) => `SELECT * FROM ${table}`;

describe("a query", () => {
  test("gives a table, and says how much there is", async () => {
    const { isOk: ok, text } = await query(
      "region,amount\nNorth,1.5\nSouth,2\nNorth,3\n",
      (table) => `SELECT region, sum(amount) AS total FROM ${table} GROUP BY region ORDER BY total DESC`,
    );
    expect(ok).toBe(true);
    expect(text).toBe("| region | total |\n| --- | --- |\n| North | 4.5 |\n| South | 2 |\n\n(2 rows)");
  });

  test("shows as many rows as asked for, and as fit", async () => {
    const lines = Array.from({ length: 1_000 }, (_, index) => `${index},${"x".repeat(500)}`).join("\n");
    const { text } = await query(`id,long\n${lines}`, all, { rows: 5 });
    expect(rowsOf(text)).toHaveLength(5);
    expect(text).toContain("(the first 5 of 1,000 rows)");
    const long = await query(`id,long\n${lines}`, all, { rows: 500 });
    expect(long.text.length).toBeLessThan(20_000);
    expect(long.text).toMatch(/\(the first \d+ of 1,000 rows\)/);
    expect((await query("a\n", all)).text).toBe("No rows. Columns: a.");
  });

  test("joins several files, of several formats", async () => {
    const people = await file("id,name\n1,Ann\n2,Bob\n");
    const orders = await file('[{"person": 1, "item": "tea"}, {"person": 2, "item": "jam"}]', "json");
    const sql = `SELECT name, item FROM ${people.table} JOIN ${orders.table} ON person = id ORDER BY name DESC`;
    expect(rowsOf((await call("data_query", { files: [people.path, orders.path], sql })).text)).toEqual([
      ["Bob", "jam"],
      ["Ann", "tea"],
    ]);
  });

  test("has statistics, patterns, JSON and windows", async () => {
    const content = "x,tag\n1,ab\n2,cd\n4,ae\n9,\n";
    const value = async (what: string) =>
      rowsOf((await query(content, (table) => `SELECT ${what} FROM ${table}`)).text)[0]?.[0];
    expect(await value("median(x)")).toBe("3");
    expect(await value("round(stddev(x), 3)")).toBe("3.559");
    expect(await value("round(stddev_pop(x), 3)")).toBe("3.082");
    expect(await value("count(*) FILTER (WHERE tag REGEXP '^A')")).toBe("0");
    expect(await value("count(*) FILTER (WHERE tag REGEXP '^a[be]$')")).toBe("2");
    expect(await value(`json_extract('{"a":[1,2]}', '$.a[1]')`)).toBe("2");
    expect(await value("sum(x) OVER (ORDER BY x DESC)")).toBe("9");
    expect((await query(content, (table) => `SELECT tag REGEXP '(' FROM ${table}`)).text).toContain(
      "not a valid regular expression",
    );
    expect(await value("stddev(tag)")).toBe("NULL");
  });

  test("that is wrong is answered with what there is", async () => {
    const { isOk: ok, text } = await query('a,"b c"\n1,2\n', (table) => `SELECT nope FROM ${table}`);
    expect(ok).toBe(false);
    expect(text).toMatch(/no such column: nope.*Tables: t\d+ \(a, b c\).*double quotes/);
    expect((await query("a\n1\n", () => "SELEC 1")).text).toContain("syntax error");
    expect((await query("a\n1\n", () => "-- nothing")).text).toContain("is empty: write a SELECT");
    expect((await query("a\n1\n", () => ";")).text).toMatch(/SELECT|statement/);
  });

  test("must be one statement, without parameters", async () => {
    expect((await query("a\n1\n", (table) => `SELECT 1; DROP TABLE ${table}`)).text).toContain(
      "more than one statement",
    );
    expect((await query("a\n1\n", () => "SELECT ?")).text).toContain("parameters");
    expect((await query("a\n1\n", () => "SELECT :x")).text).toContain("parameters");
    expect(rowsOf((await query("a\n1\n", () => "SELECT '?;:x' ; -- done\n")).text)).toEqual([["?;:x"]]);
  });
});

describe("nothing but reading is possible", () => {
  test.each([
    "DELETE FROM t",
    "INSERT INTO t VALUES (1)",
    "UPDATE t SET a = 2",
    "DROP TABLE t",
    "CREATE TABLE x (a)",
    "CREATE TEMP VIEW x AS SELECT 1",
    "ATTACH '/tmp/remora-attached.db' AS x",
    "VACUUM INTO '/tmp/remora-vacuum.db'",
    "PRAGMA writable_schema = 1",
    "SELECT * FROM pragma_database_list",
    "SELECT load_extension('/tmp/x')",
    "BEGIN",
    "REINDEX",
    "SELECT writefile('/tmp/remora-written', 'x')",
    "SELECT readfile('/etc/passwd')",
    "CREATE VIRTUAL TABLE x USING fts5(a)",
  ])("%s", async (sql) => {
    const { path, table } = await file("a\n1\n");
    const { isOk: ok } = await call("data_query", { files: [path], sql: sql.replace(/\bt\b/, table) });
    if (ok) expect(sql).toBe("REINDEX");
    expect(await readFile(join(place.workingFolder, path), "utf8")).toBe("a\n1\n");
  });

  test("and nothing without an end", async () => {
    const endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";
    const { path } = await file("a\n1\n");
    const late = await call("data_query", { files: [path], sql: endless }, { seconds: 1 });
    expect(late.text).toContain("did not finish within 1 s");
    const controller = new AbortController();
    const running = call("data_query", { files: [path], sql: endless }, {}, controller.signal);
    controller.abort(new Error("stopped"));
    await expect(running).rejects.toThrow("stopped");
  });

  test("nor with all the memory", async () => {
    const { path } = await file("a\n1\n");
    for (const what of ["zeroblob(1000000000)", "printf('%.*c', 100000000, 'x')"]) {
      expect((await call("data_query", { files: [path], sql: `SELECT ${what}` })).text).toContain("too much memory");
    }
    const sql =
      "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 100000) SELECT x, randomblob(10000) FROM n ORDER BY 2";
    expect((await call("data_query", { files: [path], sql }, { megabytes: 1 })).text).toContain("too much memory");
  });
});

describe("types of CSV columns", () => {
  const typeOf = async (...values: string[]) => {
    const lines = values.map((value) => `"${value.replaceAll('"', '""')}",1`).join("\n");
    const { text } = await query(`v,one\n${lines}`, (table) => `SELECT group_concat(DISTINCT typeof(v)) FROM ${table}`);
    return rowsOf(text)[0]?.[0];
  };

  test.each([
    ["integer", ["1", "-2", "0", "9223372036854775807", "-9223372036854775808"]],
    ["real", ["1", "2.5", ".5", "-0.25"]],
    ["real", ["1.5e10", "2e-05", "3E+2"]],
    ["real", ["0.30000000000000004", "1.0"]],
    ["real", ["1.50", "2.25", "10.00"]],
    ["integer,null", ["", "NA", "1", "n/a", "NaN"]],
    ["text", ["01234", "80331"]],
    ["text", ["+4930123", "1"]],
    ["text", ["9223372036854775808", "1"]],
    ["text", ["0.12345678901234567890", "1.5"]],
    ["text", ["1.9", "1.10"]],
    ["text", ["1,234", "5"]],
    ["text", ["1,5", "2,5"]],
    ["text", ["-0", "1"]],
    ["text", ["1e5", "2e3"]],
    ["text", ["1", "2", "three"]],
    ["text", ["0x10", "1"]],
    ["text", ["NA", "DE"]],
    ["text", ["Infinity", "1"]],
    ["text", ["12%", "5%"]],
    ["text", ["true", "false"]],
  ])("%s: %j", async (type, values) => {
    expect((await typeOf(...values))?.split(",").sort().join()).toBe(type);
  });

  test("keep every digit and every zero that the file has", async () => {
    const ids = ["1234567890123456789", "9007199254740993", "42"];
    const { text } = await query(
      `id,code\n${ids.map((id) => `${id},00${id}`).join("\n")}`,
      (table) => `SELECT id, code, id + 1 FROM ${table}`,
    );
    expect(rowsOf(text)).toEqual(ids.map((id) => [id, `00${id}`, String(BigInt(id) + 1n)]));
  });

  test("say where a column looks like numbers and is text", async () => {
    const { text } = await query(
      'price,other\n1.5,1\n"2,5",2\n',
      (table) => `SELECT price FROM ${table} WHERE price > 1`,
    );
    expect(text).toMatch(/- price: text, compared by letters.*"2,5".*replace/);
    expect(text).not.toContain("other:");
    expect((await query("plz\n01234\n", (table) => `SELECT plz FROM ${table}`)).text).toContain(
      'leading zeros, such as "01234"',
    );
  });
});

describe("CSV files", () => {
  test.each([
    ["commas", "a,b\n1,x\n"],
    ["semicolons, with commas in the values", "a;b\n1;x\n"],
    ["tabs", "a\tb\n1\tx\n"],
    ["bars", "a|b\n1|x\n"],
    ["a byte order mark", "\ufeffa,b\n1,x\n"],
    ["Windows line ends", "a,b\r\n1,x\r\n"],
    ["blanks around values", "a, b\n 1 , x\n"],
    ["blank lines", "\na,b\n\n1,x\n\n"],
    ["no line end at the end", "a,b\n1,x"],
    ["quotes", '"a","b"\n"1","x"\n'],
    ["UTF-16", Buffer.from("\ufeffa,b\n1,x\n", "utf16le")],
  ])("with %s", async (_what, content) => {
    const { text } = await query(content, (table) => `SELECT a + 1, b FROM ${table}`);
    expect(rowsOf(text)).toEqual([["2", "x"]]);
  });

  test("of another delimiter, without a header, or with lines before it are read as told", async () => {
    expect(
      rowsOf(
        (await query("1~x\n2~y\n", (table) => `SELECT c1 + 1, c2 FROM ${table}`, { delimiter: "~", header: false }))
          .text,
      ),
    ).toEqual([
      ["2", "x"],
      ["3", "y"],
    ]);
    const report = "Report of today\nmade by Ann\na;b\n1;x\n";
    expect(rowsOf((await query(report, (table) => `SELECT a, b FROM ${table}`, { skipped: 2 })).text)).toEqual([
      ["1", "x"],
    ]);
    expect((await query("1,2\n3,4\n", all)).text).toContain("use header false");
  });

  test("in other character sets keep their letters", async () => {
    expect(rowsOf((await query(Buffer.from("n\nGr\xfc\xdfe\n", "latin1"), all)).text)).toEqual([["Grüße"]]);
  });

  test("with odd headers get names that work", async () => {
    const { text } = await query('Name,name,,"a ""b"" c",select, Total (€) \n1,2,3,4,5,6\n', all);
    expect(text.split("\n")[0]).toBe('| Name | name_2 | column_3 | a "b" c | select | Total (€) |');
    expect(text).toContain("headers that were empty, repeated or irregular became name_2, column_3");
    expect(rowsOf((await query("__proto__,constructor\n1,2\n", all)).text)).toEqual([["1", "2"]]);
  });

  test("with lines of other lengths lose nothing, and say so", async () => {
    const { text } = await query("a,b\n1\n1,2,3,4\n5,6\n", all);
    expect(rowsOf(text)).toEqual([
      ["1", "NULL", "NULL", "NULL"],
      ["1", "2", "3", "4"],
      ["5", "6", "NULL", "NULL"],
    ]);
    expect(text).toMatch(/1 of 3 lines have fewer values[\s\S]*1 of 3 lines have more values.*column_3, column_4/);
  });

  test("with line ends, quotes and delimiters in values are read whole", async () => {
    expect(rowsOf((await query('a,b\n"x\ny","1,""2"""\n', all)).text)).toEqual([["x ↵ y", '1,"2"']]);
  });

  test("that are no CSV are refused with what to do", async () => {
    expect((await query('a,b\n1,"never closed\n2,3\n', all)).text).toMatch(
      /can't be read as CSV.*quotes that are not closed/,
    );
    expect((await query(Buffer.from([80, 75, 3, 4, 0, 0, 1]), all)).text).toContain("binary data");
    expect((await query("", all)).text).toContain("is empty");
    expect((await query(`${"a,".repeat(1_200)}b\n`, all)).text).toContain("the limit for columns is 1000");
  });
});

describe("JSON files", () => {
  const json = (content: string, sql = all, ending = "json") => query(content, sql, {}, ending);

  test("keep types and every digit, and what is nested as JSON", async () => {
    const { text } = await json(
      '[{"id": 1234567890123456789, "big": 123456789012345678901234567890, "s": "007", "ok": true, "n": {"a": [1, 9007199254740993]}}]',
      (table) => `SELECT id + 1, big, s, ok, n, json_extract(n, '$.a[0]'), typeof(big) FROM ${table}`,
    );
    expect(rowsOf(text)).toEqual([
      ["1234567890123456790", "123456789012345678901234567890", "007", "1", '{"a":[1,9007199254740993]}', "1", "text"],
    ]);
  });

  test("may be lines, one array in an object, or values", async () => {
    expect(rowsOf((await json('{"a":1}\n\n{"b":"x"}\r\n', all, "jsonl")).text)).toEqual([
      ["1", "NULL"],
      ["NULL", "x"],
    ]);
    expect(rowsOf((await json('{"count": 2, "rows": [{"a": 1}, {"a": 2}]}')).text)).toEqual([["1"], ["2"]]);
    expect(rowsOf((await json('[1, "x", null, [2]]')).text)).toEqual([["1"], ["x"], ["NULL"], ["[2]"]]);
    expect(rowsOf((await json('{"a": {"b": 1}}')).text)).toEqual([['{"b":1}']]);
    expect(rowsOf((await json('[{"__proto__": 1, "constructor": 2, "Constructor": 3}]')).text)).toEqual([
      ["1", "2", "3"],
    ]);
  });

  test("that are none are refused with the place", async () => {
    expect((await json("[1, 2")).text).toMatch(/\.json\] is not valid JSON/);
    expect((await json('{"a":1}\n{"b":\n', all, "jsonl")).text).toMatch(/\.jsonl, line 2\] is not valid JSON/);
    expect((await json("[]")).text).toContain("nothing to make a table from");
    expect((await json("7")).text).toContain("single value");
  });
});

describe("a result that is kept", () => {
  const content = 'id,name,note\n1,"a,b","x ""y"""\n9007199254740993,Ü,\n';
  const saved = async (name: string) => {
    const { path, table } = await file(content);
    const { text } = await call("data_query", { files: [path], sql: all(table), save_as: name });
    expect(text).toMatch(/^(?:Written to|Replaced) .*\. 2 rows\.\n\n\| id /);
    return await readFile(join(place.workingFolder, name), "utf8");
  };

  test("is a file of the format that its name says", async () => {
    expect(await saved("out/rows.csv")).toBe('id,name,note\r\n1,"a,b","x ""y"""\r\n9007199254740993,Ü,\r\n');
    expect(await saved("rows.tsv")).toBe('id\tname\tnote\r\n1\t"a,b"\t"x ""y"""\r\n9007199254740993\tÜ\t\r\n');
    expect(JSON.parse(await saved("rows.json"))).toEqual([
      { id: 1, name: "a,b", note: 'x "y"' },
      { id: "9007199254740993", name: "Ü", note: null },
    ]);
    expect((await saved("rows.jsonl")).split("\n")).toHaveLength(3);
    expect(await saved("rows.md")).toContain('| 1 | a,b | x "y" |');
    expect(await saved("rows.md")).toContain("| id | name | note |");
  });

  test("has all rows, also those that are not shown", async () => {
    const { path, table } = await file(`a\n${"1\n".repeat(700)}`);
    const { text } = await call("data_query", { files: [path], sql: all(table), save_as: "many.csv", rows: 2 });
    expect(text).toContain("(the first 2 of 700 rows)");
    expect((await readFile(join(place.workingFolder, "many.csv"), "utf8")).split("\r\n")).toHaveLength(702);
  });

  test("never takes the place of what was read, goes elsewhere, or is hidden", async () => {
    const { path, table } = await file("a\n1\n");
    const save = async (name: string) =>
      (await call("data_query", { files: [path], sql: all(table), save_as: name })).text;
    expect(await save(path)).toContain("one of the input files");
    expect(await save(`./x/../${path}`)).toContain("one of the input files");
    expect(await save("../out.csv")).toContain("outside of the working folder");
    expect(await save(".github/x.json")).toContain("is hidden");
    expect(await save("out.exe")).toContain("must end in");
    expect(await save("out")).toContain("must end in");
    expect(await readFile(join(place.workingFolder, path), "utf8")).toBe("a\n1\n");
  });
});

describe("files", () => {
  test("outside of the working folder are not read, by path, link or hard way", async () => {
    const secret = join(place.root, "secret.csv");
    await writeFile(secret, "canary\n1\n");
    await symlink(secret, join(place.workingFolder, "link.csv"));
    await symlink(place.root, join(place.workingFolder, "outside"));
    await mkdir(join(place.workingFolder, "folder.csv"));
    for (const path of ["../../../secret.csv", secret, "link.csv", "outside/secret.csv", "/proc/self/environ.csv"]) {
      const { isOk: ok, text } = await call("data_describe", { files: [path] });
      expect([path, ok]).toEqual([path, false]);
      expect(text).not.toContain("canary\n");
    }
    expect((await call("data_describe", { files: ["folder.csv"] })).text).toContain("is a folder");
    // A second name of a file inside is the file.
    const { path } = await file("a\n1\n");
    await link(join(place.workingFolder, path), join(place.workingFolder, "second.csv"));
    expect((await call("data_describe", { files: ["second.csv"] })).isOk).toBe(true);
  });

  test("that are missing, of another kind or too large are said", async () => {
    expect((await call("data_describe", { files: ["missing.csv"] })).text).toMatch(
      /"missing\.csv" does not exist.*list_folder/,
    );
    expect((await call("data_describe", { files: ["a.xlsx"] })).text).toContain(".csv, .tsv");
    expect((await call("data_describe", { files: [".env"] })).text).toContain(".csv, .tsv");
    const { path } = await file(`a\n${"12345\n".repeat(10_000)}`);
    expect((await call("data_describe", { files: [path] }, { megabytes: 0.01 })).text).toMatch(
      /has 58\.6 KiB; the limit is 0\.01 MiB/,
    );
    expect((await call("data_describe", { files: [path] }, { megabyte: 1 })).text).toContain("skills.settings.data");
  });

  test("get tables that SQL can name", async () => {
    const names = ["2026 sales.csv", "select.csv", "größe-m.csv", "a.b.csv", "a/a.b.csv", "---.csv"];
    await mkdir(join(place.workingFolder, "a"), { recursive: true });
    for (const name of names) await writeFile(join(place.workingFolder, name), "x\n1\n");
    const { text } = await call("data_describe", { files: names });
    expect([...text.matchAll(/is the table `([^`]+)`/g)].map(([, table]) => table)).toEqual([
      "t_2026_sales",
      "t_select",
      "größe_m",
      "a_b",
      "a_b_2",
      "data",
    ]);
  });
});

describe("a description", () => {
  test("says of every column what it is, and what may be misunderstood", async () => {
    const { path } = await file(
      "id,Day,amount,plz,empty\n1,2026-11-01,1.5,01234,\n2,2026-11-02,,80331,\n3,2026-11-02,4,,\n",
    );
    const { text } = await call("data_describe", { files: [path] });
    expect(text).toMatch(/^\*\*t\d+\.csv\*\* is the table `t\d+`: 3 rows, 5 columns, CSV with commas\./);
    expect(text).toContain("| column | type | empty | different | smallest | largest | samples |");
    expect(text).toContain("| id | whole number | 0 | 3 | 1 | 3 | 1, 2, 3 |");
    expect(text).toContain("| Day | text (dates) | 0 | 2 | 2026-11-01 | 2026-11-02 | 2026-11-01, 2026-11-02 |");
    expect(text).toContain("| amount | number | 1 | 2 | 1.5 | 4 | 1.5, 4 |");
    expect(text).toContain("| plz | text | 1 | 2 | 01234 | 80331 | 01234, 80331 |");
    expect(text).toContain("| empty | text | 3 | 0 |  |  |  |");
    expect(text).toContain('- plz: text, because of leading zeros, such as "01234"');
  });

  test("of very many columns stays readable", async () => {
    const names = Array.from({ length: 200 }, (_, index) => `column${index}`);
    const { path } = await file(`${names.join(",")}\n${names.map(() => "x".repeat(500)).join(",")}\n`);
    const { text } = await call("data_describe", { files: [path] });
    expect(text.length).toBeLessThan(20_000);
    expect(text).toContain("(and 140 more columns: column60, column61");
  });
});
