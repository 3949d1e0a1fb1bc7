/** Keeps the start and the end of the output. Commands usually say first what they do and last what went wrong. */
import { formatNumber } from "../../src/plugin-sdk/format-number.ts";

export interface OutputKeeper {
  add(chunk: Uint8Array): void;
  size(): number;
  text(): string;
}

const maxHeadBytes = 192 * 1024;
const maxTailBytes = 64 * 1024;

export function createOutputKeeper(): OutputKeeper {
  const head: Uint8Array[] = [];
  let tail: Uint8Array[] = [];
  let headSize = 0;
  let tailSize = 0;
  let size = 0;

  return {
    add(chunk) {
      size += chunk.length;
      const fitting = chunk.subarray(0, Math.max(0, maxHeadBytes - headSize));
      if (fitting.length > 0) head.push(fitting);
      headSize += fitting.length;
      if (fitting.length === chunk.length) return;
      tail.push(chunk.subarray(fitting.length));
      tailSize += chunk.length - fitting.length;
      // Trim the tail only at twice its limit so that small pieces are not copied repeatedly.
      if (tailSize < 2 * maxTailBytes) return;
      tail = [Buffer.concat(tail).subarray(-maxTailBytes)];
      tailSize = maxTailBytes;
    },
    size: () => size,
    text() {
      const end = Buffer.concat(tail).subarray(-maxTailBytes);
      const missing = size - headSize - end.length;
      if (missing <= 0) return readable(Buffer.concat([...head, end]));
      const note = `\n\n[… ${formatNumber(missing)} bytes of output left out …]\n\n`;
      return `${readable(Buffer.concat(head))}${note}${readable(end)}`;
    },
  };
}

function readable(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are control characters
  return text.replace(/\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/g, "");
}
