/**
 * What is below an answer: a small grey line, buttons, and Slack's feedback buttons. Workspaces whose Slack does not know the
 * feedback buttons refuse the whole message, so there is a plainer variant of each footer.
 */
import type { Log } from "../../../lib/log.ts";
import type { AnswerFooter, FooterAction } from "../../../ports/answer-footer.ts";
import { button, plainText, smallLine } from "./blocks.ts";
import type { Block } from "./render.ts";

/** Prefix of the block ids. Blocks with it are not part of what the agent said. */
export const footerBlock = "remora.footer";
const actionPrefix = "remora.footer.";
const feedbackAction = `${actionPrefix}feedback`;
const labels = { details: "Details", retry: "Retry" } as const;

export interface Footers {
  /** From the complete footer to none. The next variant is for a message that Slack refuses. */
  variants(footer: AnswerFooter | undefined): Block[][];
  /** Slack accepted `taken` after it refused the variants before it. */
  refused(footer: AnswerFooter, taken: number): void;
}

export function createFooters(log: Log): Footers {
  let hasFeedback = true;
  return {
    variants(footer) {
      if (footer === undefined) return [[]];
      const plain = plainBlocks(footer);
      const isRated = footer.choices.includes("feedback") && hasFeedback;
      const all = isRated ? [[...plain, feedbackBlock(footer)], plain] : [plain];
      return plain.length === 0 ? [...all.slice(0, 1), []] : [...all, []];
    },
    refused(footer, taken) {
      if (taken === 0 || !hasFeedback || !footer.choices.includes("feedback")) return;
      hasFeedback = false;
      log.warn({}, "this Slack workspace refuses feedback buttons, so answers have none");
    },
  };
}

function plainBlocks({ turnId, line, choices }: AnswerFooter): Block[] {
  const buttons = (["details", "retry"] as const).filter((choice) => choices.includes(choice));
  const elements = buttons.map((choice) => button(labels[choice], actionPrefix + choice, turnId));
  return [
    ...(line === "" ? [] : [{ ...smallLine(line), block_id: `${footerBlock}.line` }]),
    ...(elements.length === 0 ? [] : [{ type: "actions", block_id: `${footerBlock}.buttons`, elements }]),
  ];
}

function feedbackBlock({ turnId }: AnswerFooter): Block {
  const thumb = (text: string, label: string, action: FooterAction) => ({
    text: plainText(text),
    accessibility_label: label,
    value: `${action}:${turnId}`,
  });
  return {
    type: "context_actions",
    block_id: `${footerBlock}.feedback`,
    elements: [
      {
        type: "feedback_buttons",
        action_id: feedbackAction,
        positive_button: thumb("👍", "This answer helped", "good"),
        negative_button: thumb("👎", "This answer did not help", "bad"),
      },
    ],
  };
}

export function readFooterClick(actionId: string, value: string): { action: FooterAction; turnId: string } | undefined {
  if (actionId === feedbackAction) {
    const [, action, turnId = ""] = /^(good|bad):(.+)$/.exec(value) ?? [];
    return action === undefined ? undefined : { action: action as FooterAction, turnId };
  }
  const choice = (["details", "retry"] as const).find((each) => actionId === actionPrefix + each);
  return choice === undefined || value === "" ? undefined : { action: choice, turnId: value };
}
