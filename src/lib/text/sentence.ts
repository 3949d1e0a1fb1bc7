export function upperFirst(text: string): string {
  const [first = "", ...rest] = text;
  return first.toLocaleUpperCase("en") + rest.join("");
}

/** With a capital letter, and with a full stop unless it has another mark at its end. */
export function sentence(text: string): string {
  return /[.!?]$/.test(text) ? upperFirst(text) : `${upperFirst(text)}.`;
}
