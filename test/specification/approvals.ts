/** Approvals: records, cards and answers. */
import type { Section } from "./requirement.ts";

const approvals = "approvals/approvals.test.ts";
const editing = "approvals/editing.test.ts";
const whoMayAnswer = "approvals/who-may-answer.test.ts";
const attacks = "approvals/attacks.test.ts";
const attackClicks = "approvals/attack-clicks.test.ts";
const platform = "conformance/platform-attacks.ts";

export const approvalsSection: Section = {
  title: "approvals",
  requirements: [
    {
      says: "a risky call asks with a card, and runs once after Approve",
      shownBy: [
        [
          approvals,
          "approve runs the call once: the turn is woken, the card rewritten, and the event tells who and how long",
        ],
        [
          "e2e/main-job.test.ts",
          "a command with network access runs after Approve, and everything is on disk and readable",
        ],
      ],
    },
    {
      says: "a denied call does not run, and the model reads why",
      shownBy: [
        [approvals, "deny tells the model why"],
        ["e2e/main-job.test.ts", "a denied command does not run, and the answer says so"],
      ],
    },
    {
      says: "an approval survives a restart, and a click after it counts once",
      shownBy: [
        [attackClicks, "a pending approval survives a restart and is answered by the new process"],
        ["e2e/main-job.test.ts", "a click on a card from before kill -9 still counts, and the command runs once"],
      ],
    },
    {
      says: "a button's id is 128 random bits: a locator, never authority",
      shownBy: [
        [approvals, "ids have 128 random bits, in base64url, and never look like an option"],
        [
          attackClicks,
          "a real id in another conversation is unknown, and so is one on another message once the card's is known",
        ],
      ],
    },
    {
      says: "of simultaneous clicks exactly one decides, and everybody is told the outcome",
      shownBy: [
        [
          attackClicks,
          "of 200 simultaneous clicks on one card exactly one decides, and everyone is told the same outcome",
        ],
      ],
    },
    {
      says: "only listed approvers count: strangers, bots and webhooks change nothing and are told so",
      shownBy: [
        [attackClicks, "anyone in the channel, a bot and a webhook get a refusal of their own, and nothing changes"],
      ],
    },
    {
      says: "an empty list of approvers means nobody",
      shownBy: [[whoMayAnswer, "an empty list means nobody: denied at once with a reason, and no card to post"]],
    },
    {
      says: "`quorum` and `not_requester` exist for the gravest tools",
      shownBy: [
        [whoMayAnswer, "with a quorum, different people must approve, and one can deny"],
        [whoMayAnswer, "with notRequester the one who asked can't approve, edit or allow, but somebody else can"],
      ],
      differs: "Spelling of settings",
    },
    {
      says: "the card shows the whole call; what does not fit is a file, and nothing is cut silently",
      shownBy: [
        ["approvals/card.test.ts", "is whole, for any arguments"],
        [platform, "a call of 60,000 characters is shown in full, on the card or in a file"],
      ],
    },
    {
      says: "markup, bidi and invisible characters in arguments are shown escaped",
      shownBy: [
        ["approvals/card.test.ts", "nothing invisible is left, and no code block is ended"],
        [platform, "markup in a call, a name, a reason or an outcome is shown as text"],
      ],
    },
    {
      says: "Edit changes the call, which passes the gate again",
      shownBy: [
        [editing, "the edited call is what runs, counts as approved by that person, and the difference is kept"],
      ],
    },
    {
      says: "a grant allows the same rule for 30 minutes in this conversation, and can be revoked",
      shownBy: [
        [
          attacks,
          "allow approves this call, shows the rule that is saved, and what only that rule asks about runs unasked for 30 minutes",
        ],
        [attacks, "a revoked grant asks again, and what it had let through but has not run does not run"],
      ],
    },
    {
      says: "calls of one step share a card with a row each",
      shownBy: [[approvals, "a step with several calls gets one card with a row each"]],
    },
    {
      says: "only the call whose hash was approved runs",
      shownBy: [
        [attacks, "is not run for another call, and asking again for the same call says the same"],
        [attacks, "the stored call itself, by someone with the ledger file in hand: not run"],
      ],
    },
    {
      says: "block wins over an old approval and over a grant",
      shownBy: [
        [attacks, "a rule that blocks it by now wins over the approval"],
        [attacks, "block wins over a grant"],
      ],
    },
    {
      says: "expiry counts as no, at the answer and at execution",
      shownBy: [
        [attacks, "a click in the very millisecond of the expiry is late, before any sweep has run"],
        [attacks, "what was approved in time but is run after its expiry is not run"],
      ],
    },
    {
      says: "a card that can't be delivered never allows its call",
      shownBy: [[attacks, "a card that can't be posted is cancelled with its reason, and stays so"]],
    },
    {
      says: "at most 5 cards are open in a conversation, and identical calls share one",
      shownBy: [
        [approvals, "the rest is denied with a note, and asked again once there is room"],
        [approvals, "of two turns share one card: one click answers both and rewrites both messages"],
      ],
    },
    {
      says: "configured secrets are masked on cards, and nothing is masked by its looks",
      shownBy: [
        ["approvals/card.test.ts", "configured secrets are masked on it, and never in what is stored and hashed"],
        [
          "approvals/card.test.ts",
          "nothing is masked by its looks: what stands between PEM marks or behind sk- is shown whole",
        ],
      ],
    },
    {
      says: "every decision is an audit line and feedback",
      shownBy: [
        [approvals, "has who asked, who decided, the masked call and what was shown, before the answer counts"],
        [
          "e2e/approvals-command.test.ts",
          "after deny with a reason nothing runs, the model reads it, and one record says who and after how long",
        ],
      ],
    },
    {
      says: "settled records are kept for 30 days",
      shownBy: [[approvals, "settled records are kept 30 days for audit; open ones for as long as they are open"]],
    },
  ],
};
