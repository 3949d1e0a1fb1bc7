/** Finds a test by its title in a file, and whether it can be skipped. Relies on the formatter's layout. */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const tests = resolve(import.meta.dirname, "..");
/** What stands before a title: `test(`, `test.each(cases)(`, or the end of a list of cases. */
const opening = /(?:(?:^|\n) *(?:test|onlyOnce)\b[^\n]*|\]\))\(\s*$/;
const conditional = /^ *(?:onlyOnce\b|(?:test|describe)[\w.]*\.(?:skip|skipIf|runIf|todo|fails)\b)/;

function titlesOf(title: string): string[] {
  return [JSON.stringify(title), `'${title}'`, `\`${title}\``];
}

/** Returns what is wrong with the pointer, or undefined. `file` is relative to test/. */
export function problemWith(file: string, title: string): string | undefined {
  const text = readText(file);
  if (text === undefined) return `test/${file} does not exist`;
  const places = titlesOf(title).flatMap((quoted) => placesOf(text, quoted));
  const [place] = places.filter((at) => opening.test(text.slice(0, at)));
  if (place === undefined)
    return `test/${file} has no test called ${JSON.stringify(title)}: correct test/specification`;
  if (openersOf(text, place).some((line) => conditional.test(line)))
    return `test/${file}: ${JSON.stringify(title)} can be skipped`;
  if (/\b(?:test|describe)\.only\b/.test(text)) return `test/${file} runs only a part of its tests`;
  return isRun(file) ? undefined : `test/${file} is no test file, and no test file uses it`;
}

function placesOf(text: string, quoted: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(quoted); at !== -1; at = text.indexOf(quoted, at + 1))
    if (/^,/.test(text.slice(at + quoted.length))) places.push(at);
  return places;
}

/** The line that begins the test, and those of the groups around it: each is less indented than what it holds. */
function openersOf(text: string, at: number): string[] {
  const lines = text.slice(0, text.indexOf("\n", at)).split("\n").reverse();
  const start = lines.findIndex((line) => /^ *(?:test|onlyOnce)\b/.test(line));
  let indent = Number.POSITIVE_INFINITY;
  return lines.slice(Math.max(0, start)).filter((line) => {
    const own = /^ */.exec(line)?.[0].length ?? 0;
    const isOpener = line.trim() !== "" && own < indent;
    if (isOpener) indent = own;
    return isOpener;
  });
}

function isRun(file: string): boolean {
  if (file.endsWith(".test.ts")) return true;
  return readdirSync(tests, { recursive: true, encoding: "utf8" }).some(
    (path) => path.endsWith(".test.ts") && readText(path)?.includes(`/${file}"`) === true,
  );
}

const texts = new Map<string, string | undefined>();

function readText(file: string): string | undefined {
  if (!texts.has(file)) texts.set(file, read(file));
  return texts.get(file);
}

function read(file: string): string | undefined {
  try {
    return readFileSync(join(tests, file), "utf8");
  } catch {
    return undefined;
  }
}
