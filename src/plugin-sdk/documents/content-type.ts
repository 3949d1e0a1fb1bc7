/** Detects what a file contains by its first bytes. Only compares bytes, so it is safe in the main process. */

export type PictureFormat = "jpeg" | "png" | "gif" | "webp" | "tiff" | "avif";

export type Content =
  | { kind: "empty" }
  | { kind: "picture"; format: PictureFormat; mimeType: string; name: string }
  /** A picture in a format that Remora can't decode. */
  | { kind: "foreign-picture"; mimeType: string; name: string }
  | { kind: "pdf"; mimeType: string }
  | { kind: "zip"; mimeType: string }
  | { kind: "text"; mimeType: string; encoding: TextEncodingName }
  /** Audio, video, old Office files and programs, whose content is not read as text. */
  | { kind: "other"; mimeType: string; name: string };

/** `utf-8` is preliminary: later bytes may show that the text is Windows-1252. */
export type TextEncodingName = "utf-8" | "utf-16le" | "utf-16be" | "windows-1252";

/** How many bytes of the file's beginning `contentOf` needs. */
export const headBytes = 8_192;

const pictures: readonly (readonly [PictureFormat, string])[] = [
  ["jpeg", "ff d8 ff"],
  ["png", "89 50 4e 47 0d 0a 1a 0a"],
  ["gif", "47 49 46 38 37 61"],
  ["gif", "47 49 46 38 39 61"],
  ["webp", "52 49 46 46 .. .. .. .. 57 45 42 50"],
  ["tiff", "49 49 2a 00"],
  ["tiff", "4d 4d 00 2a"],
];

const pictureNames: Record<PictureFormat, string> = {
  ...{ jpeg: "JPEG", png: "PNG", gif: "GIF", webp: "WebP", tiff: "TIFF", avif: "AVIF" },
};

const foreignPictures: readonly (readonly [string, string, string])[] = [
  ["image/jxl", "JPEG XL", "ff 0a"],
  ["image/jxl", "JPEG XL", "00 00 00 0c 4a 58 4c 20"],
  ["image/jp2", "JPEG 2000", "00 00 00 0c 6a 50 20 20"],
  ["image/vnd.adobe.photoshop", "Photoshop", "38 42 50 53 00"],
  ["image/x-icon", "Icon", "00 00 01 00"],
  ["image/tiff", "BigTIFF", "49 49 2b 00"],
  ["image/bmp", "BMP", "42 4d .. .. .. .. 00 00 00 00"],
];

/** The container of doc, xls, ppt, and of newer Office files with a password. */
export const oldOfficeType = "application/x-ole-storage";

const others: readonly (readonly [string, string, string])[] = [
  ["audio/mpeg", "MP3 sound", "49 44 33 02"],
  ["audio/mpeg", "MP3 sound", "49 44 33 03"],
  ["audio/mpeg", "MP3 sound", "49 44 33 04"],
  ["audio/mpeg", "MP3 sound", "ff fb"],
  ["audio/mpeg", "MP3 sound", "ff f3"],
  ["audio/mpeg", "MP3 sound", "ff f2"],
  ["audio/ogg", "Ogg sound", "4f 67 67 53 00"],
  ["audio/wav", "WAV sound", "52 49 46 46 .. .. .. .. 57 41 56 45"],
  ["audio/flac", "FLAC sound", "66 4c 61 43 00"],
  ["audio/aac", "AAC sound", "ff f1"],
  ["audio/aac", "AAC sound", "ff f9"],
  ["video/webm", "WebM or Matroska film", "1a 45 df a3"],
  [oldOfficeType, "old or protected Office file", "d0 cf 11 e0 a1 b1 1a e1"],
  ["application/gzip", "gzip archive", "1f 8b"],
  ["application/x-7z-compressed", "7z archive", "37 7a bc af 27 1c"],
  ["application/vnd.rar", "RAR archive", "52 61 72 21 1a 07"],
  ["application/x-xz", "xz archive", "fd 37 7a 58 5a 00"],
  ["application/vnd.sqlite3", "SQLite database", "53 51 4c 69 74 65 20 66 6f 72 6d 61 74 20 33 00"],
];

const heicBrands = new Set(["heic", "heix", "hevc", "hevx", "heim", "heis", "hevm", "hevs"]);
const unknown: Content = { kind: "other", mimeType: "application/octet-stream", name: "file of an unknown type" };

export function contentOf(head: Uint8Array): Content {
  if (head.length === 0) return { kind: "empty" };
  const picture = pictures.find(([, pattern]) => startsWith(head, pattern));
  if (picture !== undefined) return pictureContent(picture[0]);
  const box = isoContent(head);
  if (box !== undefined) return box;
  if (startsWith(head, "50 4b 03 04") || startsWith(head, "50 4b 05 06")) {
    return { kind: "zip", mimeType: "application/zip" };
  }
  // Like other PDF readers, accept up to 1,024 other bytes before the header.
  const start = Buffer.from(head.subarray(0, 1_024)).toString("latin1");
  if (/(?:^|[\r\n])%PDF-\d\.\d/.test(start)) return { kind: "pdf", mimeType: "application/pdf" };
  const foreign = foreignPictures.find(([, , pattern]) => startsWith(head, pattern));
  if (foreign !== undefined) return { kind: "foreign-picture", mimeType: foreign[0], name: foreign[1] };
  const other = others.find(([, , pattern]) => startsWith(head, pattern));
  if (other !== undefined) return { kind: "other", mimeType: other[0], name: other[1] };
  const encoding = encodingOf(head);
  return encoding === undefined ? unknown : { kind: "text", mimeType: "text/plain", encoding };
}

function pictureContent(format: PictureFormat): Content {
  return { kind: "picture", format, mimeType: `image/${format}`, name: pictureNames[format] };
}

function startsWith(head: Uint8Array, pattern: string): boolean {
  return pattern.split(" ").every((byte, index) => byte === ".." || head[index] === Number.parseInt(byte, 16));
}

/** ISO base media files (HEIC, AVIF, MP4, M4A) begin with a box that lists brands. */
function isoContent(head: Uint8Array): Content | undefined {
  if (!startsWith(head, ".. .. .. .. 66 74 79 70")) return undefined;
  const length = Math.min(new DataView(head.buffer, head.byteOffset).getUint32(0), 256, head.length);
  const text = Buffer.from(head.subarray(8, Math.max(length, 12))).toString("latin1");
  const brands = (text.match(/[\s\S]{4}/g) ?? []).filter((_brand, index) => index !== 1);
  if (brands.includes("avif") || brands.includes("avis")) return pictureContent("avif");
  if (brands.some((brand) => heicBrands.has(brand)) || brands[0] === "mif1") {
    return { kind: "foreign-picture", mimeType: "image/heic", name: "HEIC" };
  }
  if (/^M4[AB] $/.test(brands[0] ?? "")) return { kind: "other", mimeType: "audio/mp4", name: "M4A sound" };
  if (brands[0] === "qt  ") return { kind: "other", mimeType: "video/quicktime", name: "QuickTime film" };
  return { kind: "other", mimeType: "video/mp4", name: "MP4 film or sound" };
}

/** Undefined if the bytes are not text. */
function encodingOf(head: Uint8Array): TextEncodingName | undefined {
  if (head[0] === 0xff && head[1] === 0xfe) return "utf-16le";
  if (head[0] === 0xfe && head[1] === 0xff) return "utf-16be";
  if (head.includes(0)) return utf16Without(head);
  const isControl = (byte: number) => byte < 0x20 && ![0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x1b].includes(byte);
  if (head.some(isControl)) return undefined;
  try {
    // Decode as a stream, because the head may end in the middle of a character.
    new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true });
    return "utf-8";
  } catch {
    return isMostlyAscii(head) ? "windows-1252" : undefined;
  }
}

/** Detects UTF-16 without a byte order mark: most characters have a zero byte, always on the same side. */
function utf16Without(head: Uint8Array): TextEncodingName | undefined {
  const zeros: [number, number] = [0, 0];
  for (const [index, byte] of head.entries()) if (byte === 0) zeros[index % 2 === 0 ? 0 : 1] += 1;
  const half = head.length / 2;
  if (zeros[0] === 0 && zeros[1] > half * 0.7) return "utf-16le";
  if (zeros[1] === 0 && zeros[0] > half * 0.7) return "utf-16be";
  return undefined;
}

function isMostlyAscii(head: Uint8Array): boolean {
  return head.filter((byte) => byte < 0x80).length > head.length * 0.7;
}
