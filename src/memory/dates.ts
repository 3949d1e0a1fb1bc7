/**
 * Turns days into search terms so that `on 8 May 2023`, `2023-05-08`, `in May` or `yesterday` finds passages of that
 * day. A passage of 8 May 2023 has the terms `d20230508 m202305 y2023 n05`; a question gets only the most specific one.
 */

const months = ["january", "february", "march", "april", "may", "june"].concat([
  "july",
  "august",
  "september",
  "october",
  "november",
  "december",
]);
const monthName = `(?<month>${months.join("|")}|${months.map((month) => month.slice(0, 3)).join("|")}|sept)`;
const dayNumber = "(?<day>[0-3]?\\d)(?:st|nd|rd|th)?";
const yearNumber = "(?<year>(?:19|20)\\d\\d)";

/** Most specific first. A month without a year counts only after certain words, as `may` and `march` are also verbs. */
const forms = [
  "(?<year>(?:19|20)\\d\\d)-(?<iso>[01]\\d)-(?<day>[0-3]\\d)",
  "(?<year>(?:19|20)\\d\\d)-(?<iso>[01]\\d)(?!-?\\d)",
  `${dayNumber}\\s+(?:of\\s+)?${monthName}\\.?(?:,?\\s+${yearNumber})?`,
  `${monthName}\\.?\\s+${dayNumber}(?!\\d)(?:,?\\s+${yearNumber})?`,
  `${monthName}\\.?,?\\s+${yearNumber}`,
  `(?:in|since|during|of|last|this|until|before|after)\\s+(?:early\\s+|late\\s+|mid-?\\s*)?${monthName}`,
].map((form) => new RegExp(`(?<![\\p{L}\\p{N}])${form}(?![\\p{L}\\p{N}])`, "iu"));

export function dayTermsOf(at: string): string[] {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)/.exec(at) ?? [];
  if (year === undefined || month === undefined || day === undefined) return [];
  return [`d${year}${month}${day}`, `m${year}${month}`, `y${year}`, `n${month}`];
}

export function askedDaysOf(question: string, now: number): { terms: string[]; rest: string } {
  const terms = new Set<string>();
  let rest = question;
  for (const form of forms) {
    const found = form.exec(rest);
    const term = found?.groups === undefined ? undefined : termOf(found.groups);
    if (found === null || term === undefined) continue;
    terms.add(term);
    rest = `${rest.slice(0, found.index)} ${rest.slice(found.index + found[0].length)}`;
  }
  for (const [word, back] of Object.entries({ today: 0, yesterday: 1 })) {
    if (!new RegExp(`\\b${word}\\b`, "i").test(rest)) continue;
    const term = dayTermsOf(new Date(now - back * 86_400_000).toISOString())[0];
    if (term !== undefined) terms.add(term);
  }
  return { terms: [...terms], rest };
}

function termOf(groups: Partial<Record<string, string>>): string | undefined {
  const number = groups.iso ?? monthNumber(groups.month ?? "");
  const { year, day } = groups;
  if (number === undefined) return undefined;
  if (year === undefined) return `n${number}`;
  return day === undefined ? `m${year}${number}` : `d${year}${number}${day.padStart(2, "0")}`;
}

function monthNumber(name: string): string | undefined {
  const index = months.findIndex((month) => month.startsWith(name.toLowerCase().slice(0, 3)));
  return name === "" || index === -1 ? undefined : String(index + 1).padStart(2, "0");
}
