/**
 * Memory that a 20 MB file costs the process: uploaded to the page, then fetched into the working folder by its turn. Prints the
 * peak of the resident memory above what the process had before, after a first file of 1 MB has loaded everything. Linux only.
 */
import { readFile, writeFile } from "node:fs/promises";
import { createChatClient } from "../test/doubles/chat-client.ts";
import { createHome, startRemora } from "../test/doubles/remora-process.ts";
import { createModelServer } from "./model-server.ts";

const megabyte = 1024 * 1024;
const rounds = 5;

const model = await createModelServer({ words: 5, wordMs: 0 });
const home = await createHome();
const remora = await startRemora(home, { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url });
const ann = await createChatClient(remora.url, remora.token);

async function status(field: "VmRSS" | "VmHWM"): Promise<number> {
  const text = await readFile(`/proc/${remora.pid}/status`, "utf8");
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(text)?.[1]) / 1024;
}

/** 5 resets the peak: proc(5). */
async function resetPeak(): Promise<void> {
  await writeFile(`/proc/${remora.pid}/clear_refs`, "5");
}

function* pieces(bytes: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes; at += 65_536) yield Buffer.alloc(Math.min(65_536, bytes - at), at % 251);
}

async function upload(bytes: number): Promise<string> {
  const id = crypto.randomUUID();
  const body = ReadableStream.from(pieces(bytes));
  const headers = { authorization: `Bearer ${remora.token}`, "content-type": "application/octet-stream" };
  const init = { method: "PUT", headers, body, duplex: "half" } as RequestInit;
  const response = await fetch(`${remora.url}/local/api/uploads/${id}?person=ann&name=data.bin`, init);
  if (response.status !== 201) throw new Error(await response.text());
  return id;
}

async function fetchInTurn(id: string): Promise<void> {
  const message = { person: "ann", channel: "general", text: "@remora look", attachments: [{ upload: id }] };
  const response = await ann.request("POST", "/local/api/messages", message);
  await ann.answerTo(((await response.json()) as { message: Parameters<typeof ann.answerTo>[0] }).message);
}

async function peakOf(work: () => Promise<void>): Promise<number> {
  await resetPeak();
  const before = await status("VmRSS");
  await work();
  return (await status("VmHWM")) - before;
}

try {
  await fetchInTurn(await upload(megabyte));
  for (let round = 1; round <= rounds; round++) {
    let id = "";
    const uploaded = await peakOf(async () => {
      id = await upload(20 * megabyte);
    });
    const fetched = await peakOf(() => fetchInTurn(id));
    const now = await status("VmRSS");
    console.log(
      `round ${round}: upload +${uploaded.toFixed(1)} MB, turn +${fetched.toFixed(1)} MB, then ${now.toFixed(0)} MB`,
    );
  }
} finally {
  ann.close();
  await remora.kill();
  await Promise.all([model.close(), home.remove()]);
}
