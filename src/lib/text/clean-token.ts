/** Pasted text often has spaces, line breaks, quotes or `NAME=` around the token. */
export function cleanToken(pasted: string): string {
  return pasted
    .trim()
    .replace(/^(?:export\s+)?[A-Z_]+\s*=\s*/, "")
    .replace(/^(["'`])(.*)\1$/s, "$2")
    .trim();
}
