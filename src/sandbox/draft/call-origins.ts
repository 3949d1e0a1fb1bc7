/** Finds the origins of untrusted text that a call can read, and the origins to mark its written files with. */
import { realpath } from "node:fs/promises";
import type { FolderCall } from "../../ports/draft.ts";
import type { FileOrigins, SeenFolder } from "../../ports/file-origins.ts";
import type { Scope } from "../../ports/message.ts";
import { distinctOrigins, type Origin, originsOfHosts, untrustedFor } from "../../ports/origin.ts";
import type { ToolAttempt } from "../../ports/tool.ts";

export interface OriginSources {
  fileOrigins: FileOrigins;
  outputsFolder(scope: Scope): string;
}

/** All that the call can read. Assumes that every host which it names answers. */
export async function originsRead(sources: OriginSources, call: FolderCall, folder: SeenFolder): Promise<Origin[]> {
  return distinctOrigins([...(await originsOfFiles(sources, call, folder)), ...originsOfHosts(call.network)]);
}

export async function originsOfFiles(
  { fileOrigins, outputsFolder }: OriginSources,
  call: FolderCall,
  folder: SeenFolder,
): Promise<Origin[]> {
  const { path, usesOutputs } = call;
  const isOutput = path !== undefined && /^\/outputs(?:\/|$)/.test(path);
  const outputPath = /^\/outputs\/+(.+)$/s.exec(path ?? "")?.[1];
  const [files, outputs] = await Promise.all([
    isOutput ? [] : fileOrigins.read(folder, path),
    usesOutputs ? originsOfOutputs(fileOrigins, outputsFolder(call.scope.scope), outputPath) : [],
  ]);
  return distinctOrigins([...files, ...outputs]);
}

async function originsOfOutputs(fileOrigins: FileOrigins, root: string, path: string | undefined): Promise<Origin[]> {
  const seen = await realpath(root).catch(() => undefined);
  return seen === undefined ? [] : await fileOrigins.read({ root, seen }, path);
}

/** A call's output gets the origins of its prompt and of everything the call read. */
export function originsWritten({ scope }: FolderCall, read: readonly Origin[]): Origin[] {
  return untrustedFor([...(scope.untrusted ?? []), ...read], scope.requester.id);
}

export function withOrigins(attempt: ToolAttempt, origins: readonly Origin[]): ToolAttempt {
  return { ...attempt, origins: distinctOrigins([...(attempt.origins ?? []), ...origins]) };
}
