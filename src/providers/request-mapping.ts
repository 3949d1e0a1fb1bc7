/** What all providers need to put a request on the wire. */
import type { JsonObject } from "../ports/message.ts";
import type { ModelRequest } from "../ports/provider.ts";

/** The model to ask: the one that the request prefers, when it is this provider's, or else the provider's own. */
export function modelOf(request: ModelRequest, name: string, own: string): string {
  const prefix = `${name}/`;
  const preferred = request.preferredModel;
  return preferred?.startsWith(prefix) ? preferred.slice(prefix.length) : own;
}

/** Arguments of an earlier call as an object; what was malformed is shown to the model as what it wrote. */
export function inputOf(inputJson: string): JsonObject {
  if (inputJson.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(inputJson);
    if (isJsonObject(value)) return value;
  } catch {
    // Shown below.
  }
  return { malformed_arguments: wellFormed(inputJson) };
}

/** A tool's name in history: the model may have made up one that the services refuse. */
export function wireName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "unnamed";
}

/** Services refuse a request with half a surrogate pair anywhere in it. */
export function wellFormed(text: string): string {
  return text.toWellFormed();
}

export function systemTextOf(request: ModelRequest): string {
  const texts = request.system.map((part) => part.text).filter((text) => text.trim() !== "");
  return wellFormed(texts.join("\n\n"));
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
