/** Tasks of `remora eval`, as a YAML file holds them: what people say, and the effects and values that show whether it was done. */
import { z } from "zod";

const pattern = z.string().min(1).describe("A regular expression, without regard to case");
const path = z.string().min(1).describe("Within the working folder");

const turn = z.strictObject({
  /** What the person writes. */
  say: z.string().min(1),
  /** Files of the task that come with the message. */
  attach: z.array(path).default([]),
  /** What the person clicks on cards. `never`: nobody answers. */
  approve: z.enum(["yes", "no", "never"]).default("yes"),
});

const reminder = z.strictObject({
  text: pattern,
  at: z
    .string()
    .regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, "write a time of day such as 09:30")
    .optional(),
});

const expectations = z
  .strictObject({
    /** In the last answer; each must be found. */
    answer: z.array(pattern).default([]),
    notAnswer: z.array(pattern).default([]),
    /** By path after the last turn: what the text must hold, or null if there must be no such file. */
    files: z.record(path, pattern.nullable()).default({}),
    /** In the stored notes. */
    memory: z.array(pattern).default([]),
    notMemory: z.array(pattern).default([]),
    reminders: z.array(reminder).default([]),
    /** Tools that must have succeeded at least once. */
    tools: z.array(z.string()).default([]),
    notTools: z.array(z.string()).default([]),
    /** Number of approval cards. Not judged for bots without cards. */
    cards: z.int().min(0).optional(),
  })
  .refine((given) => Object.values(given).some((one) => typeof one === "number" || Object.keys(one ?? {}).length > 0), {
    error: "say what must be true afterwards: answer, files, memory, reminders, tools or cards",
  });

export const taskSchema = z.strictObject({
  name: z.string().min(1),
  tags: z.array(z.string()).default([]),
  /** In the part that runs by default. */
  isQuick: z.boolean().default(false),
  where: z.enum(["channel", "dm"]).default("channel"),
  /** Contents by path: in the working folder before the first turn, unless a turn attaches them. */
  files: z.record(path, z.string()).default({}),
  /** Notes that are stored before. */
  notes: z.array(z.string()).default([]),
  turns: z.array(turn).min(1),
  expect: expectations,
});

export type Task = z.infer<typeof taskSchema>;
export type TaskTurn = z.infer<typeof turn>;
