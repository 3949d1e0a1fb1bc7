import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { callWarning } from "../../src/approvals/call-warning.ts";
import { callText, editableJson, escapeFile, escapeHidden } from "../../src/approvals/card-text.ts";
import { canonicalJson, hashOf } from "../../src/approvals/hash.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import { anyCharacter } from "../doubles/any-character.ts";
import { call, person, setUp, target } from "./approvals-fixture.ts";

const asIs = (text: string) => text;
const invisible = /(?![\n])[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800]|(?! )\p{Zs}/u;

/** Texts full of what could hide something. */
const nasty = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      "\\",
      "u{",
      "}",
      "`",
      "```",
      "\n",
      "\r",
      "\t",
      " ",
      "\u00a0",
      "\u202e",
      "\u200b",
      "\u2066",
      "\u2028",
    ),
    fc.constantFrom(
      "\u{e0041}",
      "\ufe0f",
      "\u3164",
      "\u0000",
      "\u001b",
      "\ud800",
      "\udfff",
      "| ",
      '"',
      "ｒ",
      "е",
      "a",
      "é",
    ),
    fc.string({ unit: anyCharacter, maxLength: 2 }),
  ),
  maxLength: 12,
});
const argumentsOf = fc.dictionary(nasty, fc.oneof(nasty, fc.jsonValue({ stringUnit: "binary" })), { maxKeys: 4 });

describe("escaping", () => {
  test("nothing invisible is left, and no code block is ended", () => {
    fc.assert(
      fc.property(nasty, (text) => {
        const shown = escapeHidden(text);
        expect(shown).not.toMatch(invisible);
        expect(shown).not.toMatch(/\n|`{3}/);
      }),
    );
  });

  test("is one-to-one: the text can be read back from what is shown", () => {
    fc.assert(
      fc.property(nasty, (text) => {
        expect(readBack(escapeHidden(text))).toBe(text);
      }),
    );
  });

  test("leaves ordinary text as it is", () => {
    const ordinary = ["ls -la ~/notes", "C:\\users\\ann", "grep '\\.ts$' | wc -l", "naïve 北京 مرحبا 🎉", "``"];
    for (const text of ordinary) expect(escapeHidden(text)).toBe(text);
  });

  test("shows what can't be seen by its code point", () => {
    expect(escapeHidden("a\u202eb\u200b\u{e0041}\u001b[0m\u00a0")).toBe(
      "a\\u{202E}b\\u{200B}\\u{E0041}\\u{1B}[0m\\u{A0}",
    );
    expect(escapeHidden("\\u{202E}")).toBe("\\\\u{202E}");
  });

  test("shows the carriage returns and tabs of scripts by a picture that the text itself can't contain", () => {
    expect(escapeHidden("tr -d '\\r' \\\r\n\tx ␍␉")).toBe("tr -d '\\r' \\␍\\u{A}␉x \\u{240D}\\u{2409}");
  });
});

describe("the call on the card", () => {
  test("is whole, for any arguments", () => {
    fc.assert(
      fc.property(argumentsOf, (input) => {
        const text = callText(call("c", input as JsonObject), asIs);
        expect(text).not.toMatch(invisible);
        expect(text).not.toContain("```");
      }),
    );
  });

  test("differs for different arguments", () => {
    fc.assert(
      fc.property(argumentsOf, argumentsOf, (one, other) => {
        const texts = [one, other].map((input) => callText(call("c", input as JsonObject), asIs));
        const keys = [one, other].map((input) => JSON.stringify(Object.keys(input)));
        const areSame = canonicalJson(one as JsonObject) === canonicalJson(other as JsonObject);
        expect(texts[0] === texts[1]).toBe(areSame && keys[0] === keys[1]);
      }),
    );
  });

  test("keeps head and tail of long arguments", () => {
    const command = `echo ${"a".repeat(200_000)}; rm -rf /`;
    expect(callText(call("c", { command }), asIs)).toBe(`shell_exec\ncommand: "${command}"`);
  });

  test("a value of many lines can't pretend to be another argument", () => {
    const text = callText(
      call("c", { script: 'ls"\ncommand: "rm -rf /', "a: 1\nb": 2, list: ["x", { y: null }] }),
      asIs,
    );
    expect(text.split("\n")).toEqual([
      "shell_exec",
      "script:",
      '  | ls"',
      '  | command: "rm -rf /',
      '"a: 1\\nb": 2',
      'list: ["x",{"y":null}]',
    ]);
  });

  test("configured secrets are masked on it, and never in what is stored and hashed", async () => {
    const desk = setUp();
    const secret = call("c1", { command: "rm -p hunter2secret x", more: { deep: "hunter2secret" } });
    const { card, approvalId } = await desk.ask("t1", secret);
    expect(JSON.stringify(card)).not.toContain("hunter2secret");
    expect((await desk.ledger.get("approval", approvalId))?.body.call).toEqual(secret);
  });

  test("a secret over several lines is redacted before the lines are parted", () => {
    const redact = (text: string) => text.replace(/BEGIN[\s\S]*END/, "[redacted]");
    expect(callText(call("c", { key: "BEGIN\nsecret\nEND" }), redact)).toBe('shell_exec\nkey: "[redacted]"');
  });

  test("nothing is masked by its looks: what stands between PEM marks or behind sk- is shown whole", async () => {
    const desk = setUp();
    const command = [
      "rm -----BEGIN RSA PRIVATE KEY----- x; curl evil.example; -----END RSA PRIVATE KEY-----",
      "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789",
      "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    ].join("; ");
    const { card } = await desk.ask("t1", call("c1", { command }));
    expect(card.items[0]?.callText).toContain(command);
    expect(card.items[0]?.facts).toBeUndefined();
    expect(card.items[0]?.choices).toContain("edit");
  });

  test("the warning is about the whole call, wherever the odd character stands in it", async () => {
    const desk = setUp();
    const { card } = await desk.ask("t1", call("c1", { command: `rm ${"x".repeat(40_000)}\u200b` }));
    expect(card.items[0]?.warning).toContain("U+200B");
    expect(card.items[0]?.callText.length).toBeGreaterThan(40_000);
  });

  test("takes a list of hundreds of thousands, which then can't be edited in a form", () => {
    const long = call("c", { list: Array.from({ length: 300_000 }, (_, index) => index) });
    expect(callText(long, asIs)).toMatch(/,299999\]$/);
    expect(editableJson(long, asIs)).toBeUndefined();
  });

  test("takes arguments that are nested thousands deep", async () => {
    const input = { deep: JSON.parse(`${"[".repeat(5_000)}"rm "${"]".repeat(5_000)}`) };
    const text = callText(call("c", input), asIs);
    expect(text).toContain('["rm "]');
    expect(callWarning(call("c", input))).toBeUndefined();
    expect(JSON.parse(editableJson(call("c", { n: 1, ...input }), asIs) ?? "")).toMatchObject({ n: 1 });
    const stored = { deep: JSON.parse(`${"[".repeat(1_000)}"rm "${"]".repeat(1_000)}`) };
    const { approvalId } = await setUp().ask("t1", call("c", stored));
    expect(approvalId).not.toBe("");
  });
});

describe("the arguments for editing", () => {
  test("come back as they were, from JSON without invisible characters", () => {
    fc.assert(
      fc.property(argumentsOf, (input) => {
        const json = editableJson(call("c", input as JsonObject), asIs) ?? "";
        expect(json).not.toMatch(invisible);
        expect(canonicalJson(JSON.parse(json))).toBe(canonicalJson(input as JsonObject));
      }),
    );
  });
});

describe("warnings", () => {
  const odd: [string, string, string][] = [
    ["a bidi override", "rm \u202etxt.exe", "U+202E"],
    ["a zero-width space", "r\u200bm x", "U+200B"],
    ["a tag character", "ls\u{e0072}", "U+E0072"],
    ["full-width letters", "ｒｍ -rf", "U+FF52"],
    ["a no-break space", "rm\u00a0-rf", "U+00A0"],
    [
      "a Cyrillic letter in a Latin word",
      "sudо ls",
      "This is not “sudo”. It has a look-alike letter, U+043E (Cyrillic).",
    ],
    ["blanks that push the tail out of sight", `ls${" ".repeat(80)}; rm -rf /`, "long run of blanks"],
    ["empty lines that push the tail out of sight", `ls${"\n".repeat(40)}rm -rf /`, "long run of blanks"],
  ];
  test.each(odd)("%s is named", (_what, command, named) => {
    expect(callWarning(call("c", { command }))).toContain(named);
    expect(callWarning(call("c", { deep: [{ [command]: 1 }] }))).toContain(named);
  });

  const covering = [
    0x305, 0x332, 0x333, 0x334, 0x335, 0x336, 0x337, 0x338, 0x33f, 0x35f, 0x360, 0x20d2, 0x20dd, 0x20e0, 0x20e5, 0x488,
    0x489, 0xfe20,
  ];
  const letter = fc.constantFrom(..."abcdefgmrstxyzRM0157-/.");
  /** Each covers the text in another way. */
  const cover = fc.oneof(
    fc.constantFrom(...covering.map((code) => String.fromCodePoint(code))),
    // Accents, of which so many do not compose.
    fc.string({
      unit: fc.constantFrom(..."\u0300\u0315\u031b\u0323\u0327\u0341\u0353\u0359"),
      minLength: 4,
      maxLength: 40,
    }),
    // Of a script that the letter is not of.
    fc.constantFrom(..."\u0e49\u0e4e\u05bc\u05b8\u0651\u093c\u0941"),
  );

  test("marks that strike through, cover or bury characters are named, on any character of a text", () => {
    fc.assert(
      fc.property(fc.array(letter, { minLength: 1, maxLength: 30 }), fc.nat(), cover, (letters, at, marks) => {
        const where = at % letters.length;
        const text = letters.map((each, index) => (index === where ? each + marks : each)).join("");
        expect(callWarning(call("c", { command: `rm ${text}` }))).toMatch(
          /Marks strike through or cover characters: U\+/,
        );
      }),
      { numRuns: 500 },
    );
  });

  test("marks that strike through, cover or bury characters are escaped in calls, names, commands and diffs", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(letter, { minLength: 1, maxLength: 30 }),
        fc.nat(),
        cover,
        async (letters, at, marks) => {
          const where = at % letters.length;
          const text = letters.map((each, index) => (index === where ? each + marks : each)).join("");
          for (const shown of [escapeHidden(text), await escapeFile(`+${text}\n`)]) {
            expect(shown).toMatch(/\\u\{[0-9A-F]+\}/);
            expect(shown.match(/\p{M}/gu)?.length ?? 0).toBeLessThanOrEqual(3);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  const words = [
    ..."Việt Nam rất đẹp, tôi đã thử nghiệm các tệp đính kèm và chuyển tiếng nghĩa ngữ pháp".split(" "),
    ..."हिन्दी में लिखा हुआ साधारण पाठ क़लम ज़्यादा पढ़ाई बड़ा फ़ाइल श्रृंखला अँधेरा दुःख".split(" "),
    ..."ภาษาไทย ทำงาน น้ำ ที่นี่ กำลัง เพื่อ ผู้ใช้ ตั้งค่า ก็ได้ สิ่งนี้".split(" "),
    ..."בְּרֵאשִׁית בָּרָא אֱלֹהִים אֵת הַשָּׁמַיִם וְאֵת הָאָרֶץ שָׁלוֹם עֲלֵיכֶם".split(" "),
    ..."مُحَمَّد السَّلَامُ عَلَيْكُمْ كِتَابٌ مُدَرِّسٌ ٱلرَّحْمَٰنِ قُرْآن شُكْرًا".split(" "),
    ..."ẹ̀kọ́ ọ̀rọ̀ За́мок g̃uarani ą́žuolas ɛ̃́ நன்றி ধন্যবাদ ਪੰਜਾਬੀ ಕನ್ನಡ မြန်မာ ភាសាខ្មែរ བོད་སྐད がぎ パピ".split(" "),
  ];

  test("ordinary text with marks has none, in either form of Unicode", () => {
    const text = fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 12 }).map((some) => some.join(" "));
    fc.assert(
      fc.property(text, fc.constantFrom("", "NFC", "NFD"), (ordinary, form) => {
        const command = `echo "${form === "" ? ordinary : ordinary.normalize(form)}"`;
        expect(callWarning(call("c", { command }))).toBeUndefined();
        expect(escapeHidden(command).match(/\p{M}/gu)?.length).toBe(command.match(/\p{M}/gu)?.length);
      }),
      { numRuns: 500 },
    );
  });

  test("a megabyte of marks is read in linear time", () => {
    expect(callWarning(call("c", { command: `e${"\u0301\u0323".repeat(500_000)}` }))).toContain("U+0301");
  });

  test("ordinary text in any script has none", () => {
    const ordinary = [
      "ls -la\n\tcat x\r\n",
      "Привет, мир",
      "naïve café",
      "北京 2024",
      "            indented",
      "deploy 🎉",
    ];
    for (const command of ordinary) expect(callWarning(call("c", { command }))).toBeUndefined();
  });
});

describe("everything else on the card", () => {
  test("names, reasons and rules are one escaped line each", async () => {
    const desk = setUp();
    const requester = person("ann", { name: "Ann\u202e\n```Approved by Ben" });
    const { card, cardId } = await desk.ask("t1", call("c1", { command: "rm x" }), { requester });
    const { requesterName, approversText, items } = card;
    for (const text of [requesterName, approversText, ...(items[0]?.why ?? []), items[0]?.grantText ?? ""]) {
      expect(text).not.toMatch(/[\n\u202e]|`{3}/);
    }
    const reason = "no\u202e\n```";
    await desk.approvals.answer({
      ...{ platform: "test", conversationId: target("t1").conversationId, cardOrApprovalId: cardId, at: 0 },
      ...{ choice: "deny", by: requester, reason },
    });
    expect((await desk.approvals.card(cardId))?.items[0]?.outcome).not.toMatch(/[\n\u202e]|`{3}/);
  });
});

describe("the hash of a call", () => {
  const place = { workingFolder: "/w", skillFile: "s" };

  test("is the same for any order of keys, and another for anything else", () => {
    fc.assert(
      fc.property(argumentsOf, argumentsOf, (one, other) => {
        const reversed = Object.fromEntries(Object.entries(one).reverse());
        const hash = hashOf({ name: "t", input: one as JsonObject }, place);
        expect(hashOf({ name: "t", input: reversed as JsonObject }, place)).toBe(hash);
        const areSame = canonicalJson(one as JsonObject) === canonicalJson(other as JsonObject);
        expect(hashOf({ name: "t", input: other as JsonObject }, place) === hash).toBe(areSame);
      }),
    );
  });

  test("sees a key that is called __proto__", () => {
    const one = JSON.parse('{"__proto__":{"a":1}}');
    expect(canonicalJson(one)).toBe('{"__proto__":{"a":1}}');
    expect(hashOf({ name: "t", input: one }, place)).not.toBe(hashOf({ name: "t", input: {} }, place));
  });

  test("does not mistake the border between its parts", () => {
    expect(hashOf({ name: "t", input: {} }, { workingFolder: "/wa", skillFile: "b" })).not.toBe(
      hashOf({ name: "t", input: {} }, { workingFolder: "/w", skillFile: "ab" }),
    );
  });
});

/** What a careful reader does: a picture is its character, and an odd run of backslashes before `u{` ends in an escape, an even one stands for half of it. */
function readBack(shown: string): string {
  const controls = shown.replaceAll("␍", "\r").replaceAll("␉", "\t");
  return controls.replace(/(\\+)u\{(?:([0-9A-F]+)\})?/g, (whole, slashes: string, code: string | undefined) => {
    const kept = "\\".repeat(Math.floor(slashes.length / 2));
    if (slashes.length % 2 === 0) return kept + whole.slice(slashes.length);
    return kept + String.fromCodePoint(Number.parseInt(code ?? "0", 16));
  });
}
