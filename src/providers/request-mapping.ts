/** Helpers that map a request to the format of a service. */
import { isJsonObject, parseJson } from "../lib/json.ts";
import type { JsonObject } from "../ports/message.ts";
import type { ModelRequest } from "../ports/provider.ts";

export function mayCall({ tools, mayCall: allowed }: ModelRequest): boolean {
  return tools.length > 0 && allowed !== false;
}

export function modelOf(request: ModelRequest, name: string, own: string): string {
  const prefix = `${name}/`;
  const preferred = request.preferredModel;
  return preferred?.startsWith(prefix) ? preferred.slice(prefix.length) : own;
}

/** Parses the arguments of an earlier call. Malformed text is sent back to the model unchanged. */
export function inputOf(inputJson: string): JsonObject {
  if (inputJson.trim() === "") return {};
  const value = parseJson(inputJson);
  return isJsonObject(value) ? value : { malformed_arguments: wellFormed(inputJson) };
}

/** Makes a past tool name valid, because the model may have invented one that the service refuses. */
export function wireName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "unnamed";
}

/** Replaces unpaired surrogates, because services refuse a request that contains one. */
export function wellFormed(text: string): string {
  return text.toWellFormed();
}

export function systemTextOf(request: ModelRequest): string {
  const texts = request.system.map((part) => part.text).filter((text) => text.trim() !== "");
  return wellFormed(texts.join("\n\n"));
}
