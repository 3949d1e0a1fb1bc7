/** Finds how long a recording is from its headers, without decoding it. */

interface SoundFile {
  size: number;
  /** Returns fewer bytes at the end of the file. */
  read(position: number, length: number): Buffer;
}

const headBytes = 64 * 1024;
const maxSeconds = 100 * 3_600;

/** Undefined if the headers contain no duration or an implausible one. */
export function soundSeconds(mimeType: string, file: SoundFile): number | undefined {
  const seconds = secondsOf(mimeType, file);
  return seconds !== undefined && seconds > 0 && seconds < maxSeconds ? seconds : undefined;
}

function secondsOf(mimeType: string, file: SoundFile): number | undefined {
  const head = file.read(0, headBytes);
  switch (mimeType) {
    case "audio/wav":
      return wavSeconds(head, file.size);
    case "audio/flac":
      return flacSeconds(head);
    case "audio/ogg":
      return oggSeconds(head, file);
    case "audio/mp4":
    case "video/mp4":
    case "video/quicktime":
      return mp4Seconds(file);
    default:
      return undefined;
  }
}

function wavSeconds(head: Buffer, size: number): number | undefined {
  const format = head.indexOf("fmt ");
  const data = head.indexOf("data");
  if (format === -1 || data === -1 || format + 20 > head.length || data + 8 > head.length) return undefined;
  // Limit the stated length, because programs that record to a pipe write a wrong one.
  const bytes = Math.min(head.readUInt32LE(data + 4), size - data - 8);
  return bytes / head.readUInt32LE(format + 16);
}

/** The first block has 20 bits of sample rate and 36 bits of sample count: RFC 9639, section 8.2. */
function flacSeconds(head: Buffer): number | undefined {
  if (head.length < 26) return undefined;
  const rate = head.readUIntBE(18, 3) >> 4;
  const samples = (head.readUInt8(21) & 0x0f) * 2 ** 32 + head.readUInt32BE(22);
  return samples / rate;
}

/** The last page contains the total number of samples (RFC 3533). Opus always counts 48,000 per second. */
function oggSeconds(head: Buffer, { size, read }: SoundFile): number | undefined {
  const vorbis = head.indexOf("\x01vorbis", 0, "latin1");
  if (vorbis !== -1 && vorbis + 16 > head.length) return undefined;
  const rate = vorbis === -1 ? 48_000 : head.readUInt32LE(vorbis + 12);
  if (vorbis === -1 && !head.includes("OpusHead")) return undefined;
  const start = Math.max(0, size - headBytes);
  const end = start === 0 ? head : read(start, headBytes);
  const page = end.lastIndexOf("OggS");
  if (page === -1 || page + 14 > end.length) return undefined;
  return Number(end.readBigUInt64LE(page + 6)) / rate;
}

/** Walks the boxes of the file to `moov`, whose first box `mvhd` contains the duration. */
function mp4Seconds({ size, read }: SoundFile): number | undefined {
  for (let at = 0, box = 0; at + 8 <= size && box < 64; box += 1) {
    const head = read(at, 160);
    if (head.length < 8) return undefined;
    const isLong = head.readUInt32BE(0) === 1 && head.length >= 16;
    const length = isLong ? Number(head.readBigUInt64BE(8)) : head.readUInt32BE(0);
    if (head.toString("latin1", 4, 8) === "moov") return movieSeconds(head);
    if (length < 8) return undefined;
    at += length;
  }
  return undefined;
}

function movieSeconds(moov: Buffer): number | undefined {
  const header = moov.indexOf("mvhd");
  if (header === -1 || header + 36 > moov.length) return undefined;
  const isVersion1 = moov.readUInt8(header + 4) === 1;
  const scale = moov.readUInt32BE(header + (isVersion1 ? 24 : 16));
  return (isVersion1 ? Number(moov.readBigUInt64BE(header + 28)) : moov.readUInt32BE(header + 20)) / scale;
}
