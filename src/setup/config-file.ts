/** Changes single settings of `config/remora.yaml`. Comments and all other lines stay as they are. */
import { existsSync } from "node:fs";
import { isNode, parseDocument, stringify } from "yaml";
import { writeFileAtomic } from "../lib/atomic-write.ts";
import { messageOf, RemoraError } from "../lib/errors.ts";
import { fileError, readText } from "./env-file.ts";

export interface ConfigFile {
  path: string;
  get(path: readonly string[]): unknown;
  /** Creates the file if it is missing, because REMORA_CONFIG must name one that exists. */
  ensure(): Promise<void>;
  set(changes: readonly (readonly [path: readonly string[], value: unknown])[]): Promise<void>;
}

const newFileText = "# Settings of this installation. docs/configuration.md explains all of them.\n";

/** Throws if the file is not valid YAML, because a change would hide the mistake. */
export async function openConfigFile(path: string): Promise<ConfigFile> {
  let text = await readText(path);
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error !== undefined) {
    const message = `is not valid YAML: ${messageOf(error).split("\n")[0]}. Correct it, then run init again`;
    throw new RemoraError({ code: "setup.config", place: path, message });
  }

  async function save(next: string): Promise<void> {
    await writeFileAtomic(path, next).catch((thrown: unknown) => {
      throw fileError(path, "can't be written", thrown);
    });
    text = next;
  }

  return {
    path,
    async ensure() {
      if (!existsSync(path)) await save(newFileText);
    },
    get: (keys) => (parseDocument(text).toJS()?.[keys[0] ?? ""] === undefined ? undefined : valueAt(text, keys)),
    async set(changes) {
      const next = changes.reduce((current, [keys, value]) => withValue(current, keys, value), text);
      if (next !== text) await save(next);
    },
  };
}

function valueAt(text: string, keys: readonly string[]): unknown {
  const found = parseDocument(text).getIn(keys);
  return isNode(found) ? found.toJSON() : found;
}

/** Replaces only the characters of the old value. If there is none on one line, the whole file is written again. */
function withValue(text: string, keys: readonly string[], value: unknown): string {
  const document = parseDocument(text);
  const node = document.getIn(keys, true);
  const written = stringify(value, { collectionStyle: "flow", lineWidth: 0 }).trimEnd();
  if (isNode(node) && node.range) {
    const [from, to] = node.range;
    if (to > from && !text.slice(from, to).includes("\n")) {
      const next = text.slice(0, from) + written + text.slice(to);
      if (JSON.stringify(valueAt(next, keys)) === JSON.stringify(value)) return next;
    }
  }
  document.setIn(keys, document.createNode(value, { flow: true }));
  return document.toString({ lineWidth: 0, flowCollectionPadding: true });
}
