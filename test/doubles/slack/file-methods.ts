/**
 * Files: an upload in three steps (URL, POST, completion), files.info, and downloads, which answer with a login page
 * instead of an error when the bearer token is missing or may not read files.
 * Rules: canvases-are-html, downloads-need-the-token, uploads-take-three-steps
 */
import type { IncomingMessage } from "node:http";
import type { Method, Token } from "./api-call.ts";
import { channelFor, checkMayPost, type Posting, threadFor } from "./posting.ts";
import type { Page } from "./server.ts";
import { fileJson } from "./shapes.ts";
import { most } from "./sizes.ts";
import type { Channel, SlackState, StoredFile } from "./state.ts";
import { type Arguments, objectsIn, SlackRefusal } from "./wire.ts";

export interface Files {
  methods: Record<string, Method>;
  upload(path: string, request: IncomingMessage, body: Buffer): Promise<Page>;
  download(path: string, authorization: string | undefined): Page;
}

export function createFiles(state: SlackState, posting: Posting, tokens: Map<string, Token>): Files {
  const lengths = new Map<string, number>();

  function announce(args: Arguments): StoredFile {
    const length = args.count("length") ?? 0;
    const name = args.required("filename");
    if (length <= 0) throw new SlackRefusal("missing_argument");
    if (args.text("snippet_type") !== undefined && length > most("snippet-bytes"))
      throw new SlackRefusal("snippet_too_large");
    if ((args.text("alt_text") ?? "").length > most("alt-text")) throw new SlackRefusal("alt_txt_too_large");
    const file: StoredFile = {
      id: state.id("F"),
      name,
      title: name,
      mimetype: mimetypeOf(name),
      content: Buffer.alloc(0),
      userId: state.app.botUserId,
      created: Math.floor(state.clock.now() / 1000),
      shares: [],
      isUploaded: false,
      isComplete: false,
    };
    state.files.set(file.id, file);
    lengths.set(file.id, length);
    return file;
  }

  function finish(args: Arguments): { files: StoredFile[]; channel: Channel | undefined } {
    const wanted = objectsIn(args.json("files"));
    if (wanted.length === 0) throw new SlackRefusal("invalid_arguments");
    const files = wanted.map((one) => {
      const file = state.files.get(String(one.id));
      if (file === undefined || !file.isUploaded || file.isComplete) throw new SlackRefusal("file_not_found");
      return { file, title: typeof one.title === "string" ? one.title : file.title };
    });
    const channelId = args.text("channel_id");
    const channel = channelId === undefined ? undefined : channelFor(state, channelId);
    if (channel !== undefined) checkMayPost(state, channel, args.text("thread_ts"));
    const threadTs = channel === undefined ? undefined : threadFor(state, channel, args.text("thread_ts"));
    for (const { file, title } of files) Object.assign(file, { title, isComplete: true });
    if (channel !== undefined)
      share(
        channel,
        threadTs,
        files.map(({ file }) => file),
        args.text("initial_comment") ?? "",
      );
    return { files: files.map(({ file }) => file), channel };
  }

  function share(channel: Channel, threadTs: string | undefined, files: StoredFile[], text: string): void {
    const message = {
      ...posting.draft(channel, { text, blocks: [], attachments: [] }, threadTs),
      subtype: "file_share",
      fileIds: files.map((file) => file.id),
    };
    for (const file of files) file.shares.push({ channel: channel.id, ts: message.ts });
    posting.post(message);
  }

  function isVisible(file: StoredFile): boolean {
    if (file.userId === state.app.botUserId || file.isGiven === true) return true;
    return file.shares.some((one) => state.channels.get(one.channel)?.members.has(state.app.botUserId));
  }

  return {
    methods: {
      "files.getUploadURLExternal"({ args }) {
        const file = announce(args);
        return { upload_url: `${state.url}/upload/v1/${file.id}`, file_id: file.id };
      },
      "files.completeUploadExternal"({ args }) {
        const { files } = finish(args);
        return { files: files.map((file) => fileJson(state, file)) };
      },
      "files.info"({ args }) {
        const file = state.files.get(args.required("file"));
        if (file === undefined || !file.isComplete || !isVisible(file)) throw new SlackRefusal("file_not_found");
        if (file.isDeleted === true) throw new SlackRefusal("file_deleted");
        return { file: fileJson(state, file), comments: [] };
      },
    },
    async upload(path, request, body) {
      const file = state.files.get(path.split("/").at(-1) ?? "");
      if (file === undefined || file.isUploaded) return { status: 404, body: "upload url not found" };
      const content = await contentOf(request.headers["content-type"] ?? "", body);
      if (content.length !== lengths.get(file.id)) return { status: 400, body: "length does not match" };
      Object.assign(file, { content, isUploaded: true });
      return { status: 200, body: `OK - ${content.length}` };
    },
    download(path, authorization) {
      const id = path.split("/")[2]?.split("-").at(-1) ?? "";
      const file = state.files.get(id);
      const token = tokens.get(/^Bearer\s+(.+)$/i.exec(authorization ?? "")?.[1] ?? "");
      if (token === undefined || token.state !== "active" || !token.scopes.includes("files:read")) return loginPage;
      if (file === undefined || file.isDeleted === true || !isVisible(file))
        return { status: 404, body: "file not found" };
      const type = file.isCanvas === true ? "text/html; charset=utf-8" : file.mimetype;
      return { status: 200, headers: { "content-type": type }, body: file.content };
    },
  };
}

const loginPage: Page = {
  status: 200,
  headers: { "content-type": "text/html; charset=utf-8" },
  body: "<!DOCTYPE html><html><head><title>Sign in | Slack</title></head><body>Sign in to your workspace</body></html>",
};

/** Plain bytes, or the one file of a multipart form as the client library sends it. */
async function contentOf(contentType: string, body: Buffer): Promise<Buffer> {
  if (!contentType.startsWith("multipart/form-data")) return body;
  const form = await new Response(new Uint8Array(body), { headers: { "content-type": contentType } }).formData();
  for (const value of form.values()) if (typeof value !== "string") return Buffer.from(await value.arrayBuffer());
  return Buffer.alloc(0);
}

const types: Record<string, string> = {
  png: "image/png",
  jpg: "image/jpeg",
  json: "application/json",
  md: "text/markdown",
};

function mimetypeOf(name: string): string {
  const extension = /\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  return types[extension] ?? "text/plain";
}
