/** Names of tables and columns: what SQL can take, unique, and as near to the file as that allows. */

const longestName = 100;

/** Of a file's name: letters, digits and underscores, so that it needs no quotes. */
export function tableName(fileName: string, taken: ReadonlySet<string>): string {
  const stem = (fileName.split(/[/\\]/).at(-1) ?? "").replace(/\.[^.]*$/, "");
  const clean = stem
    .normalize("NFKC")
    .replace(/[^\p{L}\p{N}]+/gu, "_")
    .replace(/^_+|_+$/g, "")
    .slice(0, longestName);
  const name =
    clean === "" ? "data" : /^\p{N}/u.test(clean) || keywords.has(clean.toLowerCase()) ? `t_${clean}` : clean;
  return unique(name, taken);
}

/** What a line of headers says, in order; empty and double ones get names of their own. */
export function columnNames(headers: readonly string[]): string[] {
  const taken = new Set<string>();
  return headers.map((header, index) => {
    const clean = header
      .replace(/[\p{Cc}\p{Cf}]+/gu, " ")
      .replace(/\s+/g, " ")
      .trim()
      .slice(0, longestName)
      .trim()
      .toWellFormed();
    const name = unique(clean === "" ? `column_${index + 1}` : clean, taken);
    taken.add(name.toLowerCase());
    return name;
  });
}

/** As an identifier in SQL, whatever is in it. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** SQLite compares names without regard to the case of letters. */
function unique(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name.toLowerCase())) return name;
  for (let number = 2; ; number += 1) {
    const candidate = `${name}_${number}`;
    if (!taken.has(candidate.toLowerCase())) return candidate;
  }
}

/** Those that a file is likely to be called and that SQLite does not take as a name without quotes. */
const keywords = new Set(
  "add all alter and as between by case check column commit create default delete distinct drop else except exists foreign from group having in index insert intersect into is join limit not null on or order primary references select set table then to transaction union unique update using values when where with".split(
    " ",
  ),
);
