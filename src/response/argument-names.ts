/** Finds the argument that a model meant by another name of the field, such as `file_path` for `path`. */
import { isJsonObject } from "../lib/json.ts";
import type { NumberTexts } from "../lib/loose-json.ts";
import type { JsonObject } from "../ports/message.ts";
import type { ToolSpec } from "../ports/tool.ts";
import type { Misfit } from "./schema-check.ts";

/** First the argument, then what tools of other agents call the same, all written as `plain` writes them. */
const otherNames = new Map(
  [
    "path filepath filename file absolutepath fullpath relativepath targetfile dirpath directorypath folderpath",
    "files file filepath filename path paths",
    "command cmd commandline shellcommand bashcommand script",
    "query q searchquery searchterm searchterms question",
    "sql query sqlquery statement",
    "url uri link href pageurl",
    "text content message body task reminder",
    "content text contents filecontent filecontents filetext",
    "oldtext oldstring oldstr oldcontent find search",
    "newtext newstring newstr newcontent replacement replace replacewith",
    "all replaceall",
    "limit count maxresults numresults topk",
    "count limit maxresults numresults topk",
    "when time at datetime",
    "kind type",
    "timezone tz zone",
    "title name topic",
    "name skill skillname tool toolname",
    "id scheduleid reminderid taskid jobid",
    "emoji reaction",
  ].map((line) => {
    const [own = "", ...others] = line.split(" ");
    return [own, new Set(others)] as const;
  }),
);

/**
 * Renames arguments that the tool doesn't know, if exactly one that it knows can be meant and is not there. Changes `input`, and
 * returns whether it did. `misfits` are those of `input`.
 */
export function renameArguments(
  { parameters }: ToolSpec,
  input: JsonObject,
  misfits: readonly Misfit[],
  numbers: NumberTexts,
): boolean {
  const own = isJsonObject(parameters.properties)
    ? Object.keys(parameters.properties).filter((key) => key !== "__proto__")
    : [];
  const named = new Set(
    misfits.flatMap(({ path, params }) =>
      path.length > 0 ? [] : [params.missingProperty, params.additionalProperty, params.unevaluatedProperty],
    ),
  );
  const unknown = Object.keys(input).filter((key) => !own.includes(key));
  const absent = own.filter((key) => !Object.hasOwn(input, key));
  const isMeant = (key: string, known: string) => named.has(key) || named.has(known);
  const pairs = unknown.flatMap((key) => {
    const same = absent.filter((known) => plain(known) === plain(key));
    const like = same.length > 0 ? same : absent.filter((known) => otherNames.get(plain(known))?.has(plain(key)));
    return like.filter((known) => isMeant(key, known)).map((known) => ({ key, known }));
  });
  const certain = pairs.filter((pair) => pairs.every((other) => other === pair || !isRival(pair, other)));
  for (const { key, known } of certain) {
    input[known] = input[key] ?? null;
    delete input[key];
    const written = numbers.get(input)?.get(key);
    if (written !== undefined) numbers.get(input)?.set(known, written);
  }
  return certain.length > 0;
}

function isRival(pair: { key: string; known: string }, other: { key: string; known: string }): boolean {
  return pair.key === other.key || pair.known === other.known;
}

/** `filePath`, `file_path` and `File-Path` are one name, `is_background` and `background` too. */
function plain(key: string): string {
  return key
    .replace(/^is(?:[_-]|(?=[A-Z]))/, "")
    .toLowerCase()
    .replaceAll(/[^\p{L}\d]/gu, "");
}
