/** Shows a turn's record to a person who can read its conversation, and to nobody else. */
import type { BarredBecause } from "../ports/access.ts";
import type { FooterReceipt } from "../ports/answer-footer.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Author } from "../ports/message.ts";
import type { TurnRecord } from "../ports/turn.ts";
import { requesterOf } from "../ports/turn.ts";
import type { TurnReports } from "../ports/turn-report.ts";
import { isShortened, recordFile, recordText } from "./record-text.ts";

export interface RecordsOptions {
  ledger: Pick<Ledger, "get" | "list">;
  reports: TurnReports;
  /** Undefined if the platform can't say. */
  mayRead(platform: string, conversationId: string, person: Author): Promise<boolean | undefined>;
  barredBecause: BarredBecause;
  withCost(): boolean;
}

export interface Records {
  show(turnId: string, platform: string, by: Author): Promise<FooterReceipt>;
  /** Ids of people mean somebody only together with the platform. */
  mayRead(turn: TurnRecord, platform: string, by: Author): Promise<boolean>;
  /** Why the person may do nothing with the turn; undefined if they may. */
  refusal(turn: TurnRecord, platform: string, by: Author): Promise<string | undefined>;
}

export const goneText = "I no longer have the record of this answer: records are kept for 30 days.";
const notYours = "You can't read that conversation, so I can't do that for you.";
/** About one screen. The complete record is then a file. */
const maxShownCharacters = 3_000;

export function createRecords({ ledger, reports, mayRead, barredBecause, withCost }: RecordsOptions): Records {
  async function canRead(turn: TurnRecord, platform: string, by: Author): Promise<boolean> {
    if (by.isBot || turn.target.platform !== platform) return false;
    if (turn.scope.startsWith("dm:")) return turn.scope === `dm:${by.id}`;
    return (await mayRead(platform, turn.conversationId, by)) === true;
  }

  /** Who may read a conversation may still be barred from using the agent. */
  async function refusal(turn: TurnRecord, platform: string, by: Author): Promise<string | undefined> {
    return (await canRead(turn, platform, by)) ? await barredBecause(turn, by) : notYours;
  }

  return {
    mayRead: canRead,
    refusal,
    async show(turnId, platform, by) {
      const turn = (await ledger.get("turn", turnId))?.body;
      if (turn === undefined) return { accepted: false, text: goneText };
      const refused = await refusal(turn, platform, by);
      if (refused !== undefined) return { accepted: false, text: refused };
      const report = await reports.read(turnId);
      if (report === undefined) return { accepted: false, text: goneText };
      const view = { withResults: requesterOf(turn).id === by.id, withCost: withCost() };
      const text = recordText(report, view);
      if (text.length <= maxShownCharacters && !isShortened(report)) return { accepted: true, text };
      const file = { name: "record.md", text: recordFile(report, view) };
      return { accepted: true, text: beginning(text), file };
    },
  };
}

function beginning(text: string): string {
  if (text.length <= maxShownCharacters) return `${text}\n\nThe calls in full are in the file.`;
  const end = text.lastIndexOf("\n", maxShownCharacters);
  return `${text.slice(0, end === -1 ? maxShownCharacters : end)}\n\nThis is the beginning. All of it is in the file.`;
}
