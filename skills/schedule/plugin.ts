/** The schedule tools store what the requester wants said or done later in this conversation. */
import { RemoraError } from "../../src/plugin-sdk/errors.ts";
import { failure } from "../../src/plugin-sdk/failure.ts";
import type {
  JsonObject,
  Plugin,
  PluginContext,
  PluginResult,
  PluginSchedules,
  ShownSchedule,
} from "../../src/plugin-sdk/plugin.ts";
import { textIn } from "../../src/plugin-sdk/text-in.ts";
import { readTime, shownTime } from "./time.ts";

const shownCharacters = 120;

async function execute(tool: string, input: JsonObject, context: PluginContext): Promise<PluginResult> {
  const { schedules } = context;
  if (schedules === undefined) return failure("Schedules are not available here.");
  try {
    return await run(tool, input, schedules, zoneOf(input, context));
  } catch (thrown) {
    if (thrown instanceof RemoraError && thrown.code === "schedule.invalid") return failure(thrown.message);
    throw thrown;
  }
}

async function run(
  tool: string,
  input: JsonObject,
  schedules: PluginSchedules,
  timeZone: string,
): Promise<PluginResult> {
  switch (tool) {
    case "schedule_add":
      return await add(schedules, input, timeZone);
    case "schedule_list": {
      const all = await schedules.list();
      return all.length === 0 ? "This person has no schedules here." : all.map(line(timeZone)).join("\n");
    }
    case "schedule_remove":
      return (await schedules.remove(textIn(input.id)))
        ? "Removed."
        : failure("This person has no such schedule here. schedule_list shows the existing ones.");
    default:
      return failure(`The schedule skill has no tool ${tool}.`);
  }
}

async function add(schedules: PluginSchedules, input: JsonObject, timeZone: string): Promise<PluginResult> {
  const read = readTime(textIn(input.when), timeZone, Date.now());
  if (read.type === "unclear") return failure(read.problem);
  const purpose = input.kind === "do" ? "do" : "remind";
  const { id, time, nextAt } = await schedules.add({ purpose, text: textIn(input.text), time: read.time });
  const again = time.type === "cron" ? `, and then again (cron ${time.expression})` : "";
  return `Scheduled as ${id}: ${shownTime(nextAt, timeZone)}${again}.`;
}

function line(timeZone: string): (schedule: ShownSchedule) => string {
  return ({ id, purpose, text, time, nextAt }) => {
    const zone = time.type === "cron" ? time.timeZone : timeZone;
    const again = time.type === "cron" ? `, cron ${time.expression}` : "";
    const short = text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters).toWellFormed()}…`;
    return `- ${id}: ${purpose} — ${short.replaceAll("\n", " ")} — next ${shownTime(nextAt, zone)}${again}`;
  };
}

/** The person's own counts before the operator's. */
function zoneOf(input: JsonObject, { requester, config }: PluginContext): string {
  const machine = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return textIn(input.timeZone) || requester.timeZone || textIn(config.timeZone) || machine || "UTC";
}

const plugin: Plugin = { execute };

export default plugin;
