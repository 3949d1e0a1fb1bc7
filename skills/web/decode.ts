/** Decodes text by its byte order mark, the `content-type` header, or its own declaration. */

/** Never throws. Undeclared text is UTF-8, or Windows-1252 if it is not valid UTF-8. */
export function decodeText(body: Uint8Array, contentType: string): string {
  const start = Buffer.from(body.subarray(0, 2_048)).toString("latin1");
  const declared = [
    byteOrderMark(body),
    /charset\s*=\s*["']?([^\s"';,]+)/i.exec(contentType)?.[1],
    /<meta[^>]+charset\s*=\s*["']?([^\s"'>/;]+)/i.exec(start)?.[1],
    /^<\?xml[^>]+encoding\s*=\s*["']([^"']+)/i.exec(start)?.[1],
  ];
  for (const label of declared) {
    const decoder = label === undefined ? undefined : charsetDecoder(label);
    if (decoder !== undefined) return decoder.decode(body);
  }
  const text = new TextDecoder().decode(body);
  // Ignore a replacement character at the end, because UTF-8 may have been truncated inside a character.
  return /\ufffd(?!$)/.test(text) ? new TextDecoder("windows-1252").decode(body) : text;
}

function byteOrderMark([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  return first === 0xff && second === 0xfe ? "utf-16le" : undefined;
}

function charsetDecoder(label: string): { decode(bytes: Uint8Array): string } | undefined {
  try {
    return new TextDecoder(label);
  } catch {
    return undefined;
  }
}
