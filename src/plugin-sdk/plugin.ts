/** Types for a plugin: its exports, and the input and output of its calls. */
export type { Log } from "../lib/log.ts";
export type { ChatLine, FoundLine } from "../ports/chat.ts";
export type { JobSummary, PluginCommands, PluginJobs } from "../ports/draft.ts";
export type { JsonObject } from "../ports/message.ts";
export type {
  OfferedTool,
  OfferProblem,
  Plugin,
  PluginChat,
  PluginContext,
  PluginHome,
  PluginImage,
  PluginMemory,
  PluginResult,
  PluginSchedules,
  PluginSkills,
  RecalledNote,
  ToolOffer,
} from "../ports/plugin.ts";
export type { CommandEnd } from "../ports/sandbox.ts";
export type { ScheduleTime, ShownSchedule } from "../ports/schedule.ts";
export type { Skill, SkillDiagnostic } from "../ports/skill.ts";
export type { ToolFile } from "../ports/tool.ts";
