/**
 * A scripted agent for tests of the page: what it does is given by what is said. It speaks only through the port.
 *
 *   `ask`        a few words, a card, and after the answer a few more below it
 *   `ask two`    a card with two calls
 *   `question`   a plugin's question
 *   `fail`       a few words, then a failure
 *   anything     a Markdown answer, word by word
 */
import type { ApprovalCard, CardItem } from "../../../src/ports/card.ts";
import type { InboundAnswer, InboundMessage } from "../../../src/ports/message.ts";
import type { Platform, PlatformHandlers, Reply } from "../../../src/ports/platform.ts";
import { createPosts, createQuestion, targetOf } from "../../conformance/platform-world.ts";

export interface ScriptedAgent {
  handlers: PlatformHandlers;
  heard: InboundMessage[];
  answers: InboundAnswer[];
  edited: { id: string; text: string }[];
  deleted: string[];
  /** What `anything` is answered with. */
  answerText: string;
  /** Set to hold back the last word of an answer until `release` is called. */
  isHolding: boolean;
  release(): void;
}

/** A long answer comes in larger pieces. */
const maxUpdates = 50;

export function createScriptedAgent(platform: () => Platform): ScriptedAgent {
  const waiting = new Map<string, { reply: Reply; card: ApprovalCard; asked: Promise<void> }>();
  let release = () => {};

  async function answer(message: InboundMessage): Promise<void> {
    const reply = platform().reply(targetOf(message), createPosts());
    const { text } = message;
    if (text.startsWith("ask")) return await askFirst(message, reply);
    if (text === "question")
      return await reply.question(createQuestion(message, { options: ["Approve", "<b>Deny</b>"] }));
    if (text === "fail") return await reply.fail("I had begun.", "⚠️ The model could not answer: it is out of reach.");
    // A test can release the answer as soon as it sees its first words.
    const held = agent.isHolding ? new Promise<void>((resolve) => (release = resolve)) : undefined;
    const words = agent.answerText.split(/(?<=\s)/);
    const step = Math.ceil(words.length / maxUpdates);
    let written = "";
    for (const [index, word] of words.slice(0, -1).entries()) {
      written += word;
      if (index % step !== 0) continue;
      await reply.write(written);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await held;
    await reply.finish(agent.answerText, []);
  }

  async function askFirst(message: InboundMessage, reply: Reply): Promise<void> {
    await reply.write("I will look into the folder.");
    const card = cardFor(message);
    const asked = reply.ask(card);
    waiting.set(card.id, { reply, card, asked });
    await asked;
  }

  async function settle(click: InboundAnswer) {
    const found = [...waiting].find(
      ([id, { card }]) =>
        id === click.cardOrApprovalId || card.items.some((item) => item.approvalId === click.cardOrApprovalId),
    );
    if (found === undefined) return { accepted: false, text: "This was settled already." };
    const [id, { reply, card, asked }] = found;
    // A click can be quicker than the post's record.
    await asked;
    if (click.by.name !== card.requesterName) {
      return { accepted: false, text: `Not yours to answer: ${card.requesterName} may.` };
    }
    const state = click.choice === "deny" ? "denied" : "consumed";
    const verb = click.choice === "deny" ? "Denied" : click.choice === "edit" ? "Edited and approved" : "Approved";
    const edited = click.editedJson === undefined ? {} : { callText: click.editedJson, editedFrom: "before" };
    const settled = card.items.map((item): CardItem => {
      const isMeant = click.cardOrApprovalId === id || item.approvalId === click.cardOrApprovalId;
      return isMeant && item.state === "open"
        ? { ...item, ...edited, state, choices: [], outcome: `${verb} by ${click.by.name}` }
        : item;
    });
    const now = { ...card, items: settled };
    waiting.set(id, { reply, card: now, asked });
    await reply.settle(now);
    if (settled.some((item) => item.state === "open")) return { accepted: true, text: "Noted." };
    waiting.delete(id);
    const end = state === "denied" ? "Then I leave it." : "Done:\n\n```\nREADME.md\nsrc\n```";
    await reply.finish(end, []);
    return { accepted: true, text: `${verb}.` };
  }

  const agent: ScriptedAgent = {
    heard: [],
    answers: [],
    edited: [],
    deleted: [],
    answerText: "Hello! I am **here**.",
    isHolding: false,
    release: () => release(),
    handlers: {
      async onMessage(message) {
        agent.heard.push(message);
        if (message.isAddressed) queueMicrotask(() => void answer(message));
        return undefined;
      },
      onFooter: async () => ({ accepted: false, text: "There are no footers here." }),
      onPick: async () => ({ accepted: false, text: "Nothing is asked here." }),
      async onAnswer(click) {
        agent.answers.push(click);
        return await settle(click);
      },
      onCommand: async ({ name, rest, conversationId }) => ({
        text: `\`${name}\` with \`${rest}\` in \`${conversationId}\``,
        isPrivate: true,
      }),
      async onEdited(_platform, id, text) {
        agent.edited.push({ id, text });
      },
      unanswered: async () => [],
      async onDeleted(_platform, id) {
        agent.deleted.push(id);
      },
    },
  };
  return agent;
}

function cardFor(message: InboundMessage): ApprovalCard {
  const item = (number: number, command: string): CardItem => ({
    approvalId: `approval-${number}-${message.id}`,
    tool: "shell_exec",
    callText: JSON.stringify({ command }, null, 2),
    headline: `Run \`${command}\``,
    reason: "Runs a command.",
    why: ["Every shell command asks (shell, skills/shell/SKILL.md:14)"],
    times: 1,
    state: "open",
    choices: ["approve", "deny", "edit", "allow", "why"],
    editJson: JSON.stringify({ command }, null, 2),
    grantText: "shell: every shell command, in this conversation, for 30 minutes",
  });
  const items = [item(1, "ls -la && cat <b>notes</b>.txt")];
  if (message.text === "ask two") items.push(item(2, "git push --force origin main"));
  return {
    id: `card-${message.id}`,
    target: targetOf(message),
    requesterName: message.author.name,
    approversText: `${message.author.name} may answer`,
    expiresAt: Date.now() + 3_600_000,
    items,
  };
}
