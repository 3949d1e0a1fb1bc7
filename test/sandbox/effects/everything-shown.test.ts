/** Whatever bytes a file has, its diff shows all of them, and different bytes differently, or it says that it does not. */
import { hash } from "node:crypto";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { escapeFile } from "../../../src/approvals/card-text.ts";
import { createDiff } from "../../../src/sandbox/effects/create-diff.ts";
import { diffLines } from "../../../src/sandbox/effects/line-diff.ts";
import { displayPath, encodeBytes } from "../../../src/sandbox/effects/raw-path.ts";
import { bytesAsText } from "../../../src/sandbox/effects/text-bytes.ts";
import { never } from "./overlay-view.ts";

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "remora-shown-"));
});
afterAll(() => rm(root, { recursive: true }));

/** What a person reads about a file that a draft adds or changes. */
async function shownOf(name: string, before: Buffer | undefined, after: Buffer) {
  return await shownOfAll({ [name]: after }, before === undefined ? {} : { [name]: before });
}

interface Surroundings {
  executable?: "before" | "after";
  /** The files that can run by themselves. */
  autorun?: string[];
}

async function shownOfAll(
  after: Record<string, Buffer>,
  before: Record<string, Buffer> = {},
  { executable, autorun = [] }: Surroundings = {},
) {
  const folder = await mkdtemp(join(root, "draft-"));
  const [base, layer] = [join(folder, "base"), join(folder, "layer")];
  for (const [where, files] of [[base, before] as const, [layer, after] as const]) {
    await mkdir(where);
    for (const [name, bytes] of Object.entries(files)) {
      await mkdir(dirname(join(where, name)), { recursive: true });
      await writeFile(join(where, name), bytes);
      await chmod(join(where, name), where === (executable === "before" ? base : layer) && executable ? 0o755 : 0o644);
    }
  }
  const warningsOf = () => (effect: { raw: string }) =>
    autorun.includes(effect.raw) ? "can run by itself" : undefined;
  const diff = await createDiff({ base, layer }, never, warningsOf);
  if (diff.type !== "diff") throw new Error("too large");
  await rm(folder, { recursive: true });
  return { text: await escapeFile(diff.text), missing: diff.missing };
}

const ordinaryLine = fc.stringMatching(/^[ -~]{0,60}$/).map((text) => `${text}\n`);
const oddCharacter = fc.constantFrom(
  ..."\0\x01\x07\x1b\x7f\r\f\u202e\u200b\u2066\ufeffé漢🎉\u0336`\\",
  "\\x{E9}",
  "\\u{0}",
  "```",
);
const latinLine = fc.stringMatching(/^[a-z\xa1-\xff ]{1,40}$/).map((text) => Buffer.from(`${text}\n`, "latin1"));
const utf16 = fc.constantFrom("le", "be", "le with mark", "be with mark");

function inUtf16(text: string, how: string): Buffer {
  const bytes = Buffer.from(how.endsWith("mark") ? `\ufeff${text}` : text, "utf16le");
  return how.startsWith("le") ? bytes : bytes.swap16();
}

/** Bytes around the payload, and a way to write the payload among them. */
const surroundings = fc.oneof(
  fc.array(fc.oneof(ordinaryLine, fc.string({ unit: oddCharacter, maxLength: 8 })), { maxLength: 60 }).map(asBuffers),
  fc.array(fc.oneof(latinLine, ordinaryLine.map(Buffer.from)), { maxLength: 60 }),
  fc.tuple(fc.uint8Array({ maxLength: 2_000 }), fc.uint8Array({ maxLength: 2_000 })).map((all) => all.map(Buffer.from)),
  // A script behind the head of a picture, a program or an archive, and a text behind a NUL.
  fc
    .tuple(
      fc.constantFrom("\x89PNG\r\n\x1a\n", "\x7fELF\x02\x01", "PK\x03\x04", "#!/bin/sh\n\0", "MZ\0\0", "\0"),
      fc.uint8Array({ maxLength: 5_000 }),
    )
    .map(([head, rest]) => [Buffer.from(head, "latin1"), Buffer.from(rest)]),
  // Long lines and long files, of which services show the beginning.
  fc
    .tuple(fc.constantFrom("a", "a\n", " ", "a\0", "\xff"), fc.integer({ min: 900, max: 150_000 }))
    .map(([unit, count]) => [Buffer.from(unit.repeat(count), "latin1")]),
);

function asBuffers(texts: string[]): Buffer[] {
  return texts.map((text) => Buffer.from(text));
}

const fileName = fc.constantFrom("deploy.sh", "a.txt", "logo.png", "noext", "Makefile", "data.bin", "x.ps1");
const payload = fc.stringMatching(/^PAYLOAD-[a-z0-9]{6}$/).map((mark) => `echo ${mark}`);

test("a line hidden anywhere in any file, text or not, can be read, or the diff says that it is not whole", async () => {
  await fc.assert(
    fc.asyncProperty(
      ...[fileName, surroundings, fc.nat(), payload, fc.boolean(), fc.constantFrom("none", "text", "same", "binary")],
      async (name, around, at, hidden, isOwnLine, earlier) => {
        const line = Buffer.from(isOwnLine ? `\n${hidden}\n` : `;${hidden};`);
        const where = at % (around.length + 1);
        const after = Buffer.concat([...around.slice(0, where), line, ...around.slice(where)]);
        const befores = {
          none: undefined,
          text: Buffer.from("echo ok\n"),
          same: Buffer.concat(around),
          binary: Buffer.alloc(600),
        };
        const { text, missing } = await shownOf(name, befores[earlier as keyof typeof befores], after);
        expect(missing !== undefined || text.includes(hidden)).toBe(true);
        if (earlier === "text" || name === "deploy.sh") expect(text).not.toContain("Binary file");
      },
    ),
    { numRuns: 500 },
  );
});

/** What `sh` runs although no four of its characters stand next to each other on a line. */
const scattered = fc
  .tuple(payload, fc.constantFrom("\\\n", "\\\n\0\0\0\0\0\0", "\0\0\0\0\0\0\0\0\0"))
  .map(([hidden, between]) => ({ hidden, bytes: Buffer.from(`\n${[...hidden].join(between)}\n`, "latin1") }));

test("a script scattered over a file that looks like data can be read, or the diff says that it is not whole", async () => {
  const heads = [
    "ls\n",
    "\x89PNG\r\n\x1a\n",
    "%PDF-1.7\n",
    "PK\x03\x04",
    "\x1f\x8b",
    "ID3",
    "BM",
    "\x7fELF",
    "\x80\x04",
    "",
  ];
  const filler = fc.tuple(
    fc.constantFrom("\x01\x02ab", "\x01\x02", "\x01\0\0\0a", "\xff\x01"),
    fc.constantFrom(9, 3_000, 70_000),
  );
  await fc.assert(
    fc.asyncProperty(
      ...[scattered, fc.constantFrom(...heads), filler, fc.boolean(), fc.nat(4)],
      async ({ hidden, bytes }, head, [unit, count], isFirst, amongOthers) => {
        const around = Buffer.from(`:'${unit.repeat(count)}'\n`, "latin1");
        const parts = isFirst ? [bytes, around] : [around, bytes];
        const others =
          amongOthers === 0
            ? Array.from({ length: 9 }, (_, at) => [
                `a${at}.png`,
                Buffer.from(`\x89PNG\r\n\x1a\n${"\x01\x02".repeat(125_000)}`, "latin1"),
              ])
            : [];
        const tool = Buffer.concat([Buffer.from(head, "latin1"), ...parts]);
        const { text, missing } = await shownOfAll({ ...Object.fromEntries(others), tool });
        const ofTool = text.slice(text.indexOf("diff --git a/tool "));
        const letters = ofTool.replace(/^[+ ]|\\u\{0[^}]*\}|[\\\n]/gm, "");
        expect(missing !== undefined || letters.includes(hidden)).toBe(true);
      },
    ),
    { numRuns: 40 },
  );
});

/** What `sh` runs behind the head of a known type, although no two of its letters stand next to each other. */
function hiddenScript(head: string, filler = 140_000): Buffer {
  const letters = [..."touch RAN"].join("`\x01`");
  return Buffer.from(`${head}\n#${"\x01\x02".repeat(filler)}\n${letters}\n`, "latin1");
}

const pngHead = "\x89PNG\r\n\x1a\n";

test.each<[string, string, Surroundings]>([
  ["logo.gif", "GIF89a", {}],
  ["logo.bmp", "BM", {}],
  ["deploy", "BM", { executable: "after" }],
  ["tool.exe", "MZ", {}],
  ["doc.pdf", "%PDF-1.7", {}],
  ["song.mp3", "ID3", {}],
  ["logo.png", pngHead, { executable: "after" }],
  ["logo.png", pngHead, { executable: "before" }],
  ["logo.png", pngHead, { autorun: ["logo.png"] }],
  ["logo.jpg", pngHead, {}],
  ["logo", pngHead, {}],
  ["deploy", "\x7fELF\x02\x01", { executable: "after" }],
  [".git/logo.png", pngHead, {}],
  [".git/hooks/pre-commit", "GIF89a", { executable: "after" }],
  [".bash_aliases", "GIF89a", {}],
])("a script in %s behind %j with %j is shown whole, or the diff says that it is not", async (name, head, around) => {
  const before = around.executable === "before" ? { [name]: Buffer.alloc(600) } : {};
  const { text, missing } = await shownOfAll({ [name]: hiddenScript(head) }, before, around);
  const isShown =
    text.includes([..."touch RAN"].join("\\`\\u{1}\\`")) || text.includes([..."touch RAN"].join("`\\u{1}`"));
  expect(missing !== undefined || isShown).toBe(true);
  const larger = await shownOfAll({ [name]: hiddenScript(head, 850_000) }, before, around);
  expect(larger.missing).toMatch(/and too large to show whole, as a file must be that a shell may run\.$/);
});

test.each([
  ["logo.GIF", "GIF89a\x80\x02\xe0\x01\xf7\0\0"],
  ["report.pdf", "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"],
  ["notes.docx", "PK\x03\x04\x14\0"],
  ["libx.so.1", "\x7fELF\x02\x01\x01\0"],
])("%s of 1.8 MB, which begins as its name says, can be approved", async (name, head) => {
  const bytes = Buffer.from(`${head}${"\x01\x02\xff".repeat(600_000)}`, "latin1");
  const { text, missing } = await shownOfAll({ [name]: bytes });
  expect(missing).toBeUndefined();
  expect(text).toContain("What can be read in it:");
});

test("a picture of 2 MB and a small unknown file beside large pictures can be approved, and unknown data of 2 MB can't", async () => {
  const noise = (bytes: number, head: string) => {
    // A sequence that looks random, but is always the same.
    const body = Buffer.concat(
      Array.from({ length: Math.ceil(bytes / 64) }, (_, at) => hash("sha512", String(at), "buffer")),
    ).subarray(0, bytes);
    return Buffer.concat([Buffer.from(head, "latin1"), body]);
  };
  const small = Buffer.from("\x01\x02\x03".repeat(20), "latin1");
  const pictures = Object.fromEntries(
    Array.from({ length: 6 }, (_, at) => [
      `${"aA"[at % 2]}${at}.${at % 2 === 0 ? "png" : "PNG"}`,
      noise(2_000_000, pngHead),
    ]),
  );
  const shown = await shownOfAll({ ...pictures, "z.bin": small });
  expect(shown.missing).toBeUndefined();
  expect(shown.text).toContain("\\u{1}\\u{2}\\u{3}\\u{1}");
  expect((await shownOfAll({ "model.dat": noise(2_000_000, "") })).missing).toBe(
    "model.dat is unknown data, 1.9 MiB, and too large to show whole.",
  );
});

test("a text in UTF-16 can be read, and the letters that a shell finds in its bytes as well", async () => {
  const wide = fc.string({
    unit: fc.oneof(
      fc.constantFrom(..."echo sh\n;éж漢慨"),
      fc.nat({ max: 0xd7ff }).map((code) => String.fromCharCode(code)),
    ),
    maxLength: 30,
  });
  await fc.assert(
    fc.asyncProperty(wide, payload, utf16, fc.boolean(), async (around, hidden, how, isInBytes) => {
      // The payload as text, or as the bytes of other characters.
      const inside = isInBytes
        ? Buffer.from(`${hidden}${hidden.length % 2 === 0 ? "" : " "}`).toString("utf16le")
        : hidden;
      const after = inUtf16(`${around}\n${inside}\n`, isInBytes ? "le with mark" : how);
      const { text } = await shownOf("wide.txt", undefined, after);
      expect(text.replaceAll("\\u{0}", "")).toContain(hidden);
      // Only a mark tells texts of other letters from data.
      if (how.endsWith("mark")) expect(text).not.toContain("Binary file");
    }),
    { numRuns: 200 },
  );
});

/** Bytes that look like escapes, and bytes that are escaped. */
const nasty = fc
  .array(
    fc.constantFrom(
      "\\",
      "\\\\",
      "x{",
      "u{",
      "E9",
      "0",
      " ×9",
      "}",
      "\xe9",
      "\xed\xb3\xa9",
      "\0",
      "\0".repeat(9),
      "\r",
      "␍",
      "\t",
      "\xc3\xa9",
      "\xc3",
      "`",
      "\n",
      "a",
    ),
    { maxLength: 10 },
  )
  .map((parts) => Buffer.from(parts.join(""), "latin1"));

test("two different files never look the same, also where one spells the escapes of the other", async () => {
  await fc.assert(
    fc.asyncProperty(nasty, nasty, async (one, other) => {
      const [shown, otherShown] = await Promise.all([one, other].map((bytes) => escapeFile(bytesAsText(bytes))));
      expect(shown === otherShown).toBe(one.equals(other));
    }),
    { numRuns: 500 },
  );
});

test("two different names never look the same", () => {
  const name = fc
    .array(
      fc.constantFrom(
        "\\",
        "x",
        "n",
        "t",
        "ff",
        "\xff",
        "\n",
        "\t",
        "<",
        "U+202E",
        ">",
        "\xe2\x80\xae",
        "%",
        "5C",
        " ",
        "a",
      ),
      { minLength: 1, maxLength: 8 },
    )
    .map((parts) => Buffer.from(parts.join(""), "latin1"));
  fc.assert(
    fc.property(name, name, (one, other) => {
      expect(displayPath(encodeBytes(one)) === displayPath(encodeBytes(other))).toBe(one.equals(other));
    }),
    { numRuns: 500 },
  );
});

test.each(["\\", "`", "\0\\", "\u202e", "\xff"])("a megabyte of %j is escaped in linear time", async (unit) => {
  expect((await escapeFile(bytesAsText(Buffer.from(unit.repeat(1_000_000), "latin1")))).length).toBeGreaterThan(
    1_000_000 - 1,
  );
});

test("the edits between two texts give both of them back, however long and different they are", () => {
  const numbers = fc.array(fc.nat(30), { maxLength: 60, size: "max" });
  fc.assert(
    fc.property(
      numbers,
      numbers,
      fc.constantFrom(1, 150),
      fc.constantFrom(0, 1_000_000),
      (one, other, times, lines) => {
        // Some lines are the only ones of their kind.
        const linesOf = (some: number[]) =>
          Array.from({ length: times }, (_, at) => some.map((n) => `${n} ${n < 10 ? at : ""}\n`)).flat();
        const [before, after] = [linesOf(one), linesOf(other)];
        const edits = diffLines(before, after, { lines });
        const without = (type: string) => edits.flatMap((edit) => (edit.type === type ? [] : edit.lines)).join("");
        expect(without("added")).toBe(before.join(""));
        expect(without("removed")).toBe(after.join(""));
      },
    ),
  );
});
