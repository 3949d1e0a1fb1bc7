/** Files of messages, commands and modals, by links that are signed and expire after a day. */
import type { ServerResponse } from "node:http";
import { signatureOf } from "./message-payload.ts";
import type { AttachmentRecord, World } from "./world.ts";

export function serveFile(world: World, response: ServerResponse, url: URL): void {
  const [, folder, channelId, fileId] = url.pathname.split("/");
  const expires = url.searchParams.get("ex") ?? "";
  const issued = url.searchParams.get("is") ?? "";
  const path = `/${folder}/${channelId}/${fileId}/${url.pathname.split("/")[4] ?? ""}`;
  const isSigned = url.searchParams.get("hm") === signatureOf(world, path, expires, issued);
  const isOld = Number.parseInt(expires, 16) * 1000 < world.clock.now();
  const file = isSigned && !isOld ? find(world, channelId ?? "", fileId ?? "") : undefined;
  if (file === undefined) {
    response.writeHead(404, { "content-type": "text/plain" }).end("This content is no longer available.");
    return;
  }
  const fault = world.fileFaults.shift();
  if (fault?.type === "answer") {
    response.writeHead(fault.status).end();
    return;
  }
  response.writeHead(200, {
    "content-type": file.contentType ?? "application/octet-stream",
    "content-length": String(file.bytes.length),
  });
  if (fault === undefined) response.end(file.bytes);
  else
    response.write(file.bytes.subarray(0, fault.bytes), () => {
      if (fault.end === "cut") response.destroy();
    });
}

function find(world: World, channelId: string, fileId: string): AttachmentRecord | undefined {
  const given = world.uploads.get(fileId);
  if (given !== undefined) return given;
  const messages = world.channels.get(channelId)?.messages.values() ?? [];
  return [...messages].flatMap(({ attachments }) => attachments).find(({ id }) => id === fileId);
}
