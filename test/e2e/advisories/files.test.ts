/** Advisories about documents, archives, formats and file names, replayed on files. docs/security-log.md has their sources. */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { strToU8 } from "fflate";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { office, paragraph, pdfFile, xlsx } from "../../plugin-sdk/documents/files.ts";
import { type AdvisoryWorld, openWorld } from "./world.ts";

let world: AdvisoryWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const put = (name: string, content: string | Uint8Array) => writeFile(join(world.folder, name), content);
const read = (path: string) => world.call("read_file", { path });
const polluted = () =>
  (({}) as Record<string, unknown>).polluted ?? ([] as unknown as Record<string, unknown>).polluted;

test("a Word document brings along no file of the host, and writes none", async () => {
  const { canary, secret, outside } = world;
  const picture = '<w:p><w:r><w:drawing><a:blip xmlns:a="a" xmlns:r="r" r:link="rId1"/></w:drawing></w:r></w:p>';
  const relations = `<Relationships xmlns="r"><Relationship Id="rId1" Type="image" Target="file://${canary}" TargetMode="External"/></Relationships>`;
  const document = (declared: string, reference: string) =>
    office("word/document.xml", {
      "word/document.xml": strToU8(
        `<?xml version="1.0"?>${declared}<w:document xmlns:w="w"><w:body>${paragraph(`Harmless words${reference}`)}${picture}</w:body></w:document>`,
      ),
      "word/_rels/document.xml.rels": strToU8(relations),
      "../../../../outside/written.txt": strToU8("written"),
      [`${outside}/absolute.txt`]: strToU8("written"),
    });
  await put("plain.docx", document("", ""));
  await put("entity.docx", document(`<!DOCTYPE d [<!ENTITY x SYSTEM "file://${canary}">]>`, "&x;"));
  const plain = await read("plain.docx");
  expect(plain).toContain("Harmless words");
  for (const answer of [plain, await read("entity.docx")]) expect(answer).not.toContain(secret);
  expect(await readdir(outside)).toEqual(["canary.txt"]);
});

test("code in a PDF's font is not run", async () => {
  const code = `(0\\); require\\('fs'\\).writeFileSync\\('${world.outside}/ran', ''\\); globalThis.polluted = 1; //)`;
  const page = "BT /F1 24 Tf 72 700 Td (Harmless words) Tj ET";
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
    `<< /Length ${page.length} >>\nstream\n${page}\nendstream`,
    `<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /FontMatrix [0.001 0 0 0.001 0 ${code}] >>`,
  ];
  await put("font.pdf", pdfFile(objects));
  expect(await read("font.pdf")).toContain("Harmless words");
  expect(polluted()).toBeUndefined();
  expect(await readdir(world.outside)).toEqual(["canary.txt"]);
});

test("names of JavaScript's own in arguments, tables, sheets and skills change no object of the process", async () => {
  const evil = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}';
  await world.answerTo(
    `call shell_exec {"command":"true","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}`,
  );
  await put("evil.json", `[${evil}]`);
  await put("evil.csv", "__proto__,constructor,polluted\n1,2,3\n");
  const cell = (at: string, text: string) => `<c r="${at}" t="inlineStr"><is><t>${text}</t></is></c>`;
  const rows = `<row r="1">${cell("A1", "__proto__")}${cell("B1", "polluted")}</row><row r="2">${cell("A2", "x")}${cell("B2", "1")}</row>`;
  await put("evil.xlsx", xlsx([{ name: "__proto__", rows }]));
  for (const name of ["evil.json", "evil.csv", "evil.xlsx"]) await world.call("data_describe", { path: name });
  expect(await read("evil.xlsx")).toContain("polluted");
  const folder = join(world.home.workspace, "skills/evil");
  await mkdir(folder, { recursive: true });
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefgh"
    .split("")
    .map((name, index) => `${name}: &${name} [${Array(9).fill(`*${"abcdefg"[index]}`)}]`)
    .join("\n")}`;
  await writeFile(
    join(folder, "SKILL.md"),
    `---\nname: evil\ndescription: Evil.\n__proto__: { polluted: 1 }\nbase: &base { polluted: 1 }\nconstructor: { prototype: { <<: *base } }\n${bomb}\n---\nEvil.\n`,
  );
  expect(await world.run("echo still here")).toContain("still here");
  expect(polluted()).toBeUndefined();
});

test("a file's name leads to no other place, and puts nothing into the headers of its download", async () => {
  const names = [
    "../../../x.txt",
    "/etc/x.txt",
    "a\r\nset-cookie: b=c.txt",
    'a"; filename="b.exe',
    ".bashrc",
    "x\u202Egpj.txt",
    "CON",
    "a\u0000.txt",
    "..",
    "~root",
  ];
  const attachments = names.map((name) => ({
    name,
    mimeType: "text/plain",
    base64: Buffer.from("harmless").toString("base64"),
  }));
  const response = await world.ann.request("POST", "/local/api/messages", {
    person: "ann",
    text: "@remora hello",
    channel: "general",
    attachments,
  });
  const { message } = (await response.json()) as { message?: { files: { id: string; name: string }[] } };
  expect(message?.files).toHaveLength(names.length);
  for (const { id } of message?.files ?? []) {
    const { headers, ok } = await world.ann.request("GET", `/local/api/files/${id}`);
    expect(ok).toBe(true);
    expect(headers.get("set-cookie")).toBeNull();
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  }
  const received = () => readdir(join(world.folder, "inbox"), { recursive: true }).catch(() => []);
  const inbox = await vi.waitFor(async () => {
    const found = await received();
    // A file has another name while it is fetched.
    expect(found.filter((path) => path.includes(".fetching-"))).toEqual([]);
    expect(found.length).toBeGreaterThanOrEqual(names.length);
    return found;
  }, 30_000);
  for (const path of inbox) expect(path).toMatch(/^[^/]+(?:\/[^/]+)?$/);
  expect(inbox.filter((path) => /\p{C}|\/\./u.test(path))).toEqual([]);
  expect(await readdir(world.outside)).toEqual(["canary.txt"]);
  expect(await readFile(world.canary, "utf8")).toContain(world.secret);
});
