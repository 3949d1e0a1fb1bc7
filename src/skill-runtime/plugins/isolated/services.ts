/** Lets an isolated plugin call only those of Remora's services that its skill declares. */
import { codeOf, messageOf, RemoraError } from "../../../lib/errors.ts";
import type { PluginCommands, PluginJobs } from "../../../ports/draft.ts";
import type { PluginServices } from "../../../ports/plugin.ts";
import type { SkillPermissions } from "../../../ports/skill.ts";
import type { PluginMessage } from "./messages.ts";

export interface UsedServices extends Omit<PluginServices, "skills"> {
  commands?: PluginCommands;
  jobs?: PluginJobs;
}

type Question = Extract<PluginMessage, { type: "ask" }>;

/** An isolated plugin may call only these methods. */
const methods = {
  memory: ["remember", "recall", "forget"],
  chat: ["history", "post", "react", "openThread"],
  schedules: ["add", "list", "remove"],
  jobs: ["read", "stop"],
  commands: ["startJob"],
} as const;

export function servicesAllowed(all: UsedServices, { services, commands }: SkillPermissions): UsedServices {
  const { memory, chat, schedules, ask } = all;
  return {
    ...(ask === undefined ? {} : { ask }),
    ...(memory !== undefined && services.includes("memory") ? { memory } : {}),
    ...(chat !== undefined && services.includes("chat") ? { chat } : {}),
    ...(schedules !== undefined && services.includes("schedules") ? { schedules } : {}),
    ...(all.commands !== undefined && commands ? { commands: all.commands } : {}),
    ...(all.jobs !== undefined && commands ? { jobs: all.jobs } : {}),
  };
}

export function offeredServices({
  memory,
  chat,
  schedules,
  ask,
}: UsedServices): Record<string, readonly string[] | true> {
  return {
    ...(memory === undefined ? {} : { memory: methods.memory }),
    ...(chat === undefined ? {} : { chat: methods.chat }),
    ...(schedules === undefined ? {} : { schedules: methods.schedules }),
    ...(ask === undefined ? {} : { ask: true }),
  };
}

/** Never rejects. `services` is undefined if the call has already ended. */
export async function answerQuestion(services: UsedServices | undefined, question: Question): Promise<object> {
  const { id } = question;
  try {
    const value = await use(services, question);
    return { type: "reply", id, ...(value === undefined ? {} : { value }) };
  } catch (thrown) {
    const code = codeOf(thrown);
    const isRetryable = thrown instanceof RemoraError && thrown.isRetryable;
    return {
      type: "reply",
      id,
      error: { message: messageOf(thrown), ...(code === undefined ? {} : { code }), isRetryable },
    };
  }
}

async function use(services: UsedServices | undefined, { service, method, args }: Question): Promise<unknown> {
  if (service === "chat" && method === "post" && namesFiles(args[0])) {
    throw new RemoraError({
      code: "plugin.service",
      place: "chat.post",
      message: "accepts no files from an isolated plugin: return them as the tool's result",
    });
  }
  const used: unknown = services?.[service];
  const target =
    service === "ask"
      ? used
      : (methods[service] as readonly string[]).includes(method) && typeof used === "object" && used !== null
        ? Reflect.get(used, method)
        : undefined;
  if (typeof target !== "function") {
    throw new RemoraError({
      code: "plugin.service",
      place: `${service}.${method}`,
      message: "is not available to this call: the call has ended, or SKILL.md does not declare it",
    });
  }
  return await Reflect.apply(target, used, args);
}

/** Finds messages that name files. Remora would open the files itself, and it can read more than the plugin may. */
function namesFiles(message: unknown): boolean {
  if (typeof message !== "object" || message === null || !("files" in message)) return false;
  return !Array.isArray(message.files) || message.files.length > 0;
}
