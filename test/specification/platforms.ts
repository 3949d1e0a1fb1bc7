/** Discord, Slack, the local page, access and settings. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect } from "vitest";
import type { Section } from "./requirement.ts";

const root = resolve(import.meta.dirname, "../..");
const platform = "conformance/platform.ts";
const discord = "platforms/discord/";
const slack = "platforms/slack/";

export const platforms: Section = {
  title: "platforms and settings",
  requirements: [
    {
      says: "the three platforms pass one suite",
      check() {
        for (const file of ["discord/conformance", "slack/platform", "local/platform"])
          expect(readFileSync(`${root}/test/platforms/${file}.test.ts`, "utf8")).toContain("conformance/platform.ts");
      },
    },
    {
      says: "a message is acknowledged only when it is stored",
      shownBy: [[platform, "a message is acknowledged only after it is durably saved"]],
    },
    {
      says: "mentions, replies, DMs and the bot's own threads address the bot",
      shownBy: [
        [platform, "mentions, follow-ups in their thread and DMs are addressed; other messages are only received"],
      ],
    },
    {
      says: "conversation ids read back as what they were made from",
      shownBy: [
        [`${discord}conversation-id.test.ts`, "an id reads back as the conversation it was made from"],
        [`${slack}conversation-id.test.ts`, "what is made is read again, and nothing else makes the same id"],
        [
          "platforms/local/conversation-id.test.ts",
          "whatever the names are, an id reads back as the conversation it was made from",
        ],
      ],
    },
    {
      says: "nobody sees a reply twice, also after a crash between posting and knowing",
      shownBy: [
        [
          `${discord}replying-failures.test.ts`,
          "a process that dies between posting and storing the id posts nothing twice",
        ],
        [
          `${slack}reply-failures.test.ts`,
          "after a connection that broke once the message was posted, the message is found and not posted again",
        ],
      ],
    },
    {
      says: "long replies are split without breaking fences, tables or links, and very long ones are files",
      shownBy: [
        [
          "platforms/shared/split-markdown.test.ts",
          "parts fit, have balanced fences, and are the text up to blanks at the cuts",
        ],
        [
          `${discord}replying.test.ts`,
          "an answer of 20,000 characters is a file with its beginning as text, and further messages are deleted",
        ],
        [
          `${slack}reply.test.ts`,
          "over 12,000 characters, the message has the beginning, and a file below it has the whole text",
        ],
      ],
    },
    {
      says: "edits are at least a second apart on Discord; Slack streams natively and rolls over before 5 minutes",
      shownBy: [
        [
          `${discord}replying.test.ts`,
          "the first words appear at once, there is at most one edit a second, and the last state is shown",
        ],
        [
          `${slack}reply-streaming.test.ts`,
          "the stream is ended before five minutes, and the message continues by edits",
        ],
      ],
    },
    {
      says: "nothing that is sent pings anybody or unfolds a link",
      shownBy: [
        [`${discord}replying.test.ts`, "no post or edit pings anybody or shows a link preview, whatever it contains"],
        [`${slack}reply.test.ts`, "previews are off, nobody is pinged, and the metadata name turn and key"],
      ],
      differs: "Mentions of approvers",
    },
    {
      says: "clicks are acknowledged within 3 s, before anything is decided",
      shownBy: [
        [
          `${discord}card-clicks.test.ts`,
          "are acknowledged before anything is decided, and the receipt is for the person alone",
        ],
      ],
    },
    {
      says: "messages of a downtime or a cut are fetched and answered once",
      shownBy: [
        [`${slack}connection.test.ts`, "a cut socket is back, and what was said meanwhile is fetched, not waited for"],
        [
          `${discord}connection.test.ts`,
          "without a session to resume, what was missed is fetched, once and in order, before what comes next",
        ],
      ],
    },
    {
      says: "Slack by HTTP checks signatures",
      shownBy: [[`${slack}http.test.ts`, "a good signature of another body is a bad one"]],
    },
    {
      says: "other bots are ignored, and loops are cut",
      shownBy: [
        ["access/access.test.ts", "are ignored without a word, unless they are named"],
        [
          "access/access.test.ts",
          "that answer each other are left alone after so many messages in a row, until a person speaks",
        ],
      ],
    },
    {
      says: "access rules say who may talk, with pairing for DMs",
      shownBy: [
        ["access/access.test.ts", "a list of people or roles lets in whoever is in either, and an empty one nobody"],
        ["access/access.test.ts", "a stranger gets a code; once somebody else has confirmed it they may talk"],
      ],
    },
    {
      says: "missing tokens, scopes and intents are named at the start, with the place to add them",
      shownBy: [
        [`${discord}connection.test.ts`, "an intent that is off is named, with its switch"],
        [`${slack}connection.test.ts`, "a wrong app token is named at the start"],
      ],
    },
    {
      says: "slash commands are registered only when they changed",
      shownBy: [
        [`${discord}connection.test.ts`, "are registered once, again only when they change, and for servers and DMs"],
      ],
    },
    {
      says: "every problem of the configuration is reported at once, with key, value and what to do",
      shownBy: [["config/load.test.ts", "come all at once, each with place, key, value and what to do"]],
    },
    {
      says: "every setting is in the file with its default, and ${ENV} is filled in",
      shownBy: [
        ["config/load.test.ts", "says exactly the defaults"],
        ["config/load.test.ts", "fills ${NAME} and ${NAME:-default}"],
      ],
    },
    {
      says: "the specification's environment variables are documented",
      check() {
        const page = readFileSync(`${root}/docs/configuration.md`, "utf8");
        const names = [
          "DISCORD_TOKEN",
          "DISCORD_API_URL",
          "SLACK_BOT_TOKEN",
          "SLACK_APP_TOKEN",
          "SLACK_SIGNING_SECRET",
        ];
        const more = ["SLACK_API_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"];
        const rest = ["OLLAMA_HOST", "REDIS_URL", "REMORA_CONFIG", "REMORA_WORKSPACE", "REMORA_DATA", "REMORA_SKILLS"];
        for (const name of [...names, ...more, ...rest, "REMORA_PORT", "REMORA_MODEL", "LOG_LEVEL"])
          expect(page).toContain(`\`${name}\``);
      },
    },
    {
      says: "the user's libraries are dependencies, and are used",
      check() {
        const { dependencies } = JSON.parse(readFileSync(`${root}/package.json`, "utf8")) as { dependencies: object };
        const chosen = ["discord.js", "@slack/bolt", "yaml", "zod", "keyv", "@anthropic-ai/sdk", "openai", "bullmq"];
        expect(Object.keys(dependencies)).toEqual(expect.arrayContaining([...chosen, "ioredis", "pino", "hono"]));
      },
      differs: "Keyv on SQLite",
    },
    {
      says: "every event of the corpus is a line of the log, redacted, in order",
      check() {
        const events = readFileSync(`${root}/src/ports/events.ts`, "utf8");
        const names = [
          "message.received",
          "turn.started",
          "turn.parked",
          "turn.resumed",
          "turn.finished",
          "context.built",
        ];
        const more = ["llm.request", "llm.response", "llm.error", "llm.fallback", "tool.called", "tool.retried"];
        const safety = ["allowed", "confirm", "approved", "denied", "expired", "blocked"].map(
          (name) => `safety.${name}`,
        );
        const rest = [
          "tool.completed",
          "tool.failed",
          "memory.saved",
          "feedback.recorded",
          "skill.loaded",
          "skill.rejected",
        ];
        for (const name of [
          ...names,
          ...more,
          ...safety,
          ...rest,
          "platform.connected",
          "platform.disconnected",
          "queue.stalled",
        ])
          expect(events).toContain(`"${name}"`);
      },
      shownBy: [
        ["audit/audit-log.test.ts", "every event is one, in order, with its number and the hash of the line before it"],
      ],
    },
    {
      says: "SIGTERM ends the process cleanly",
      shownBy: [
        ["e2e/service-outages.test.ts", "SIGTERM closes both connections and ends the process with exit code 0"],
      ],
    },
  ],
};
