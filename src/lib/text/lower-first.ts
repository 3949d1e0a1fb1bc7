/** For a phrase inside a sentence. Keeps names and abbreviations such as "PDF". */
export function lowerFirst(text: string): string {
  return /^\p{Lu}\p{Ll}/u.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}
