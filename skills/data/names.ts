/** Derives table and column names that are valid in SQL, unique, and close to the names in the file. */

const maxNameLength = 100;

export function tableName(fileName: string, taken: ReadonlySet<string>): string {
  const stem = (fileName.split(/[/\\]/).at(-1) ?? "").replace(/\.[^.]*$/, "");
  const clean = stem
    .normalize("NFKC")
    .replace(/[^\p{L}\p{N}]+/gu, "_")
    .replace(/^_+|_+$/g, "")
    .slice(0, maxNameLength);
  const name =
    clean === "" ? "data" : /^\p{N}/u.test(clean) || keywords.has(clean.toLowerCase()) ? `t_${clean}` : clean;
  return unique(name, taken);
}

export function columnNames(headers: readonly string[]): string[] {
  const taken = new Set<string>();
  return headers.map((header, index) => {
    const clean = header
      .replace(/[\p{Cc}\p{Cf}]+/gu, " ")
      .replace(/\s+/g, " ")
      .trim()
      .slice(0, maxNameLength)
      .trim()
      .toWellFormed();
    const name = unique(clean === "" ? `column_${index + 1}` : clean, taken);
    taken.add(name.toLowerCase());
    return name;
  });
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Ignores case, because SQLite ignores the case of names. */
function unique(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name.toLowerCase())) return name;
  for (let number = 2; ; number += 1) {
    const candidate = `${name}_${number}`;
    if (!taken.has(candidate.toLowerCase())) return candidate;
  }
}

const keywords = new Set(
  "add all alter and as between by case check column commit create default delete distinct drop else except exists foreign from group having in index insert intersect into is join limit not null on or order primary references select set table then to transaction union unique update using values when where with".split(
    " ",
  ),
);
