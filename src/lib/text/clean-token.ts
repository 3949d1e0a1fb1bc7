/** What keys and tokens look like, wherever they come from: typed, pasted, in a file, or in the environment. */

/** Pasted text often has spaces, line breaks, quotes or `NAME=` around the token. */
export function cleanToken(pasted: string): string {
  return pasted
    .trim()
    .replace(/^(?:export\s+)?[A-Z_]+\s*=\s*/, "")
    .replace(/^(["'`])(.*)\1$/s, "$2")
    .trim();
}

/** Such as "is in quotes". No header can hold such a key, and what fails then may repeat it. Never contains any of it. */
export function tokenFormProblem(token: string): string | undefined {
  if (/[\r\n]/.test(token)) return "has several lines";
  if (/^["'`\u2018-\u201f\u00ab\u00bb]|["'`\u2018-\u201f\u00ab\u00bb]$/.test(token))
    return "has a quotation mark around it";
  if (/\s/.test(token)) return "has a space inside";
  return /[^\x21-\x7e]/.test(token) ? "has a character that no key has" : undefined;
}
