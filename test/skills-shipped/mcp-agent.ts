/** The shipped mcp skill with servers of a test: library, gate and toolbox as the application has them. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished, vi } from "vitest";
import { createGate } from "../../src/gate/gate.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import type { Log } from "../../src/lib/log.ts";
import { scalePicture } from "../../src/plugin-sdk/documents/scale-picture.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import { createSkillLibrary, gateRules } from "../../src/skill-runtime/library/library.ts";
import { createToolbox } from "../../src/skill-runtime/toolbox.ts";
import { makePlace, skillsFolder } from "./place.ts";

const program = fileURLToPath(new URL("../doubles/mcp-server.ts", import.meta.url));

/** Settings of a server that is this program (test/doubles/mcp-server.ts), started with these options. */
export function programServer(options: object = {}, more: JsonObject = {}): JsonObject {
  return { command: process.execPath, args: [program, JSON.stringify(options)], ...more };
}

export async function openMcp(servers: JsonObject) {
  const place = await makePlace();
  const logged: { [field: string]: unknown }[] = [];
  const note = (fields: object, message: string) => void logged.push({ ...fields, message });
  const log: Log = { debug: note, info: note, warn: note, error: note };
  const library = createSkillLibrary({ roots: [join(skillsFolder, "mcp")], log, events: createEvents() });
  await library.reload();
  const gate = createGate({ rules: gateRules(library.current()), matching: "extended" });
  const exactGate = createGate({ rules: gateRules(library.current()), matching: "exact" });
  library.onChange((set) => {
    gate.replace(gateRules(set));
    exactGate.replace(gateRules(set));
  });
  await mkdir(join(place.workspace, "files"), { recursive: true });
  const toolbox = createToolbox({
    library,
    log,
    workspace: place.workspace,
    filesRoot: join(place.workspace, "files"),
    dataFolder: join(place.root, "data", "skills"),
    config: { settings: { mcp: { servers } } },
    scalePicture,
  });
  let isClosed = false;
  const close = async () => {
    if (isClosed) return;
    isClosed = true;
    await toolbox.close();
    await library.close();
  };
  onTestFinished(async () => {
    await close();
    await place.remove();
  });
  const names = () =>
    toolbox
      .specs("any")
      .map(({ name }) => name)
      .filter((name) => name !== "load_skill");
  const { conversationId, scope, turnId, requester, workingFolder } = place.context("mcp");
  return {
    place,
    logged,
    gate,
    exactGate,
    toolbox,
    close,
    names,
    problems: () => library.current().diagnostics.map(({ message }) => message),
    printed: () => library.current().diagnostics.flatMap(({ printed = [] }) => printed),
    /** Resolves when the tool is offered. */
    async until(name: string) {
      await vi.waitFor(
        () => {
          if (!names().includes(name))
            throw new Error(`${name} is not there; there are ${names().join(", ") || "none"}`);
        },
        { timeout: 18_000 },
      );
    },
    run: (name: string, input: JsonObject = {}, signal = AbortSignal.timeout(90_000)) =>
      toolbox.run({ id: "c1", name, input }, { conversationId, scope, turnId, requester, workingFolder }, signal),
  };
}
