/**
 * Reads `gate_tests` of a SKILL.md: calls with the verdict that the author expects, in either of two forms:
 *
 *   - { tool: shell_exec, args: { command: "rm -rf /" }, want: block }
 *
 *   block:
 *     - { tool: shell_exec, args: { command: "rm -rf /" } }
 *     - shell_exec {"command":"mkfs /dev/sda"}
 */
import { isMap, isSeq, type Node } from "yaml";
import { isJsonObject, parseJson } from "../../lib/json.ts";
import type { JsonObject } from "../../ports/message.ts";
import type { GateTest } from "../../ports/skill.ts";
import type { Notes } from "./diagnostics.ts";
import { toJson } from "./values.ts";
import { type Fields, scalarText } from "./yaml-fields.ts";

type Want = GateTest["want"];

export function readGateTests(fields: Fields, notes: Notes): GateTest[] {
  const node = fields.first("gate_tests")?.node ?? null;
  if (node === null) return [];
  if (isSeq(node)) return node.items.flatMap((item) => readTest(item as Node, undefined, fields, notes));
  const groups = isMap(node) ? node.items : [];
  if (!isMap(node))
    notes.warn(
      fields.lineOf(node),
      "gate-test",
      "gate_tests was ignored: use a list, or lists below block, confirm and safe",
    );
  return groups.flatMap(({ key, value }) => {
    const want = asWant(scalarText(key as Node));
    if (want === undefined || !isSeq(value)) {
      notes.warn(
        fields.lineOf(key as Node),
        "gate-test",
        "a group of gate_tests must be block, confirm or safe, with a list below",
      );
      return [];
    }
    return value.items.flatMap((item) => readTest(item as Node, want, fields, notes));
  });
}

function readTest(node: Node, group: Want | undefined, fields: Fields, notes: Notes): GateTest[] {
  const line = fields.lineOf(node);
  const written = toJson(node, fields.document);
  const test = typeof written === "string" ? fromText(written) : isJsonObject(written) ? fromMap(written) : undefined;
  const want = group ?? (isJsonObject(written) ? asWant(written.want) : undefined);
  if (test !== undefined && want !== undefined) return [{ ...test, want, line }];
  notes.warn(line, "gate-test", "a gate test was ignored: it needs tool, args and want (block, confirm or safe)");
  return [];
}

function fromMap(written: JsonObject): { tool: string; args: JsonObject } | undefined {
  const { tool, args = {} } = written;
  return typeof tool === "string" && isJsonObject(args) ? { tool, args } : undefined;
}

function fromText(written: string): { tool: string; args: JsonObject } | undefined {
  const [, tool = "", json = "{}"] = /^(\S+)\s*(\{.*\})?$/s.exec(written.trim()) ?? [];
  const args = parseJson(json);
  return tool !== "" && isJsonObject(args) ? { tool, args } : undefined;
}

function asWant(written: unknown): Want | undefined {
  return written === "block" || written === "confirm" || written === "safe" ? written : undefined;
}
