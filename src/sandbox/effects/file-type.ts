/** Names the type of a binary file by its first bytes, for people who decide whether to keep it. */

interface Signature {
  at?: number;
  bytes: string;
  name: string;
}

/** Bytes as Latin-1. Programs first. */
const signatures: readonly Signature[] = [
  { bytes: "\x7fELF", name: "Linux program or library" },
  { bytes: "MZ", name: "Windows program or library" },
  { bytes: "\xcf\xfa\xed\xfe", name: "macOS program or library" },
  { bytes: "\xca\xfe\xba\xbe", name: "Java class or macOS program" },
  { bytes: "\0asm", name: "WebAssembly program" },
  { bytes: "\x89PNG", name: "PNG picture" },
  { bytes: "\xff\xd8\xff", name: "JPEG picture" },
  { bytes: "GIF8", name: "GIF picture" },
  { at: 8, bytes: "AVI ", name: "AVI video" },
  { at: 8, bytes: "WEBP", name: "WebP picture" },
  { at: 8, bytes: "WAVE", name: "WAV sound" },
  { bytes: "BM", name: "BMP picture" },
  { bytes: "\0\0\x01\0", name: "icon" },
  { bytes: "II*\0", name: "TIFF picture" },
  { bytes: "MM\0*", name: "TIFF picture" },
  { bytes: "%PDF", name: "PDF document" },
  { bytes: "PK\x03\x04", name: "ZIP archive or Office document" },
  { bytes: "\x1f\x8b", name: "gzip archive" },
  { bytes: "BZh", name: "bzip2 archive" },
  { bytes: "\xfd7zXZ", name: "xz archive" },
  { bytes: "\x28\xb5\x2f\xfd", name: "Zstandard archive" },
  { bytes: "7z\xbc\xaf", name: "7-Zip archive" },
  { bytes: "Rar!", name: "RAR archive" },
  { at: 257, bytes: "ustar", name: "tar archive" },
  { bytes: "\xd0\xcf\x11\xe0", name: "old Office document" },
  { bytes: "SQLite format 3\0", name: "SQLite database" },
  { bytes: "DIRC", name: "git index" },
  { bytes: "PACK", name: "git pack" },
  { bytes: "\xfftOc", name: "git pack index" },
  { bytes: "\x78\x01", name: "compressed data, as in git" },
  { bytes: "\x78\x9c", name: "compressed data" },
  { bytes: "\x78\xda", name: "compressed data" },
  { bytes: "\x04\x22\x4d\x18", name: "LZ4 archive" },
  { bytes: "PAR1", name: "Parquet table" },
  { bytes: "ARROW1", name: "Arrow table" },
  { bytes: "\x89HDF", name: "HDF5 data" },
  { bytes: "\x93NUMPY", name: "NumPy array" },
  { bytes: "GGUF", name: "GGUF model" },
  { bytes: "8BPS", name: "Photoshop picture" },
  { at: 4, bytes: "jP  ", name: "JPEG 2000 picture" },
  { at: 4, bytes: "JXL ", name: "JPEG XL picture" },
  { bytes: "MThd", name: "MIDI music" },
  { bytes: "\xff\xfb", name: "MP3 sound" },
  { at: 4, bytes: "ftyp", name: "MP4 video or sound" },
  { bytes: "\x1a\x45\xdf\xa3", name: "Matroska or WebM video" },
  { bytes: "OggS", name: "Ogg sound or video" },
  { bytes: "ID3", name: "MP3 sound" },
  { bytes: "fLaC", name: "FLAC sound" },
  { bytes: "wOF2", name: "font" },
  { bytes: "wOFF", name: "font" },
  { bytes: "\0\x01\0\0\0", name: "font" },
  { bytes: "OTTO", name: "font" },
  { bytes: "ttcf", name: "font" },
];

export const unknownType = "unknown data";

export function fileTypeOf(start: Buffer): string {
  const head = start.subarray(0, 512).toString("latin1");
  return signatures.find(({ at = 0, bytes }) => head.startsWith(bytes, at))?.name ?? unknownType;
}

/** Inert types whose beginning is no text, each with the endings of its names. */
const inertPatterns: readonly (readonly [start: string, name: RegExp])[] = [
  [String.raw`^\x89PNG\r\n\x1a\n`, /\.a?png$/i],
  [String.raw`^\xff\xd8\xff`, /\.jpe?g$/i],
  // Of these, the first letters are text, so a NUL must be on their first line.
  [String.raw`^GIF8[79]a[^\n\0]{0,6}\0`, /\.gif$/i],
  [String.raw`^RIFF.{3}[\0-\x08]WEBP`, /\.webp$/i],
  [String.raw`^RIFF.{3}[\0-\x08]WAVE`, /\.wav$/i],
  [String.raw`^RIFF.{3}[\0-\x08]AVI `, /\.avi$/i],
  [String.raw`^(?:II\*\0|MM\0\*)`, /\.tiff?$/i],
  [String.raw`^\0\0\x01\0`, /\.ico$/i],
  // A comment and bytes beyond ASCII are on the second line, as the format recommends.
  [String.raw`^%PDF-\d\.\d[\r\n ]{1,3}%[\x80-\xff]{4}`, /\.pdf$/i],
  [String.raw`^PK\x03\x04`, /\.(?:zip|docx|xlsx|pptx|od[tsp]|epub)$/i],
  [String.raw`^\xd0\xcf\x11\xe0`, /\.(?:doc|xls|ppt)$/i],
  [String.raw`^\x1f\x8b`, /\.t?gz$/i],
  [String.raw`^\xfd7zXZ\0`, /\.t?xz$/i],
  [String.raw`^\x28\xb5\x2f\xfd`, /\.zst$/i],
  [String.raw`^7z\xbc\xaf`, /\.7z$/i],
  [String.raw`^SQLite format 3\0`, /\.(?:sqlite3?|db)$/i],
  [String.raw`^\x93NUMPY`, /\.npy$/i],
  [String.raw`^\x89HDF`, /\.(?:h5|hdf5)$/i],
  [String.raw`^\0\0\0.ftyp`, /\.(?:mp4|m4[av]|mov)$/i],
  [String.raw`^\x1a\x45\xdf\xa3`, /\.(?:mkv|webm)$/i],
  [String.raw`^(?:\xff\xfb|ID3[\x02-\x04]\0)`, /\.mp3$/i],
  [String.raw`^OggS\0`, /\.(?:ogg|oga|ogv|opus)$/i],
  [String.raw`^fLaC[\0\x80]`, /\.flac$/i],
  [String.raw`^(?:wOF[2F]\0|\0\x01\0\0\0)`, /\.(?:woff2?|ttf)$/i],
  [String.raw`^\x7fELF[\x01\x02]`, /\.(?:so(?:\.\d+)*|o|ko)$/i],
];
const inertTypes = inertPatterns.map(([start, name]) => ({ start: new RegExp(start, "s"), name }));

const inGitFolder = /(?:^|\/)\.git(?:\/|$)/i;

/**
 * True if nothing is likely to run the file as a script: its name fits its beginning, which is not text, and it is in no
 * repository's own folder. A shell runs whatever it is given, so two letters that a format begins with do not suffice.
 */
export function isInertFile(path: string, start: Buffer): boolean {
  if (inGitFolder.test(path)) return false;
  const head = start.subarray(0, 32).toString("latin1");
  return inertTypes.some((type) => type.name.test(path) && type.start.test(head));
}

const scriptName =
  /(?:^|\/)(?:[^/]*\.(?:sh|bash|zsh|fish|ksh|csh|ps1|psm1|bat|cmd|py|pyw|rb|pl|pm|php|js|mjs|cjs|jsx|ts|mts|cts|tsx|lua|r|tcl|awk|sed|sql|service|desktop|ya?ml|json|toml|ini|conf|cfg|env|mk|gradle|cmake)|Makefile|makefile|GNUmakefile|Dockerfile|Jenkinsfile|Rakefile|Gemfile|Vagrantfile|\.[^/]*rc|\.(?:bash_)?profile)$/i;

/** True if programs read files of this name as text, whatever is in them. */
export function isScriptName(path: string): boolean {
  return scriptName.test(path);
}
