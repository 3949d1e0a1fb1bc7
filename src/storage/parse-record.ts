/** Parses the body of a ledger entry. Throws if it is not a JSON object, because every record is one. */
export function parseRecord(text: string): object {
  const body: unknown = JSON.parse(text);
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw new TypeError("it is not a JSON object");
  return body;
}
