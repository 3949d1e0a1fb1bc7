/** Finds the known name that somebody probably meant. */

const maxTypingErrors = 2;

/** A swap of neighbours counts as one error. */
function typingErrors(one: string, other: string): number {
  const rows = [Array.from({ length: other.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const at = (up: number, left: number) => rows[i - up]?.[j - left] ?? 0;
      const isSame = one[i - 1] === other[j - 1];
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      row.push(
        Math.min(
          at(1, 0) + 1,
          (row[j - 1] ?? 0) + 1,
          at(1, 1) + (isSame ? 0 : 1),
          isSwapped ? at(2, 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    rows.push(row);
  }
  return rows[one.length]?.[other.length] ?? Number.POSITIVE_INFINITY;
}

/** Undefined if no name is near. Short names must be nearer than long ones. */
export function closestName(name: string, known: readonly string[]): string | undefined {
  return nearNames(name, known)[0];
}

/** The nearest first, then those that share most words with the name. */
export function closestNames(name: string, known: readonly string[], limit: number): string[] {
  const words = new Set(wordsOf(name));
  const shared = (one: string) => wordsOf(one).filter((word) => words.has(word)).length;
  const alike = known.filter((one) => shared(one) > 0).sort((a, b) => shared(b) - shared(a));
  return [...new Set([...nearNames(name, known), ...alike])].slice(0, limit);
}

function wordsOf(name: string): string[] {
  return name
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_")
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter((word) => word.length > 2);
}

function nearNames(name: string, known: readonly string[]): string[] {
  const wanted = name.toLowerCase();
  const limit = Math.min(maxTypingErrors, Math.floor(wanted.length / 3));
  const near = known
    .filter((one) => Math.abs(one.length - name.length) <= limit)
    .map((one) => ({ one, errors: typingErrors(wanted, one.toLowerCase()) }))
    .filter(({ errors }) => errors <= limit);
  return near.sort((a, b) => a.errors - b.errors).map(({ one }) => one);
}
