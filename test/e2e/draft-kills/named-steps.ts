/**
 * The steps that every run dies right before, as `<count>:<label>` of test/faults/kill-steps.ts. Each has a comment with the last
 * thing that happened.
 */
import type { Kind } from "./tasks.ts";

const joining = [
  "1:view: open", // the call is planned
  "1:view: the command runs",
  "1:rename workspace/drafts/open/*/joined/*.json", // the command has ended
  "1:ledger: create draft open", // the plan is on disk
  "1:mkdir workspace/drafts/open/*/.layer.merging", // the draft is in the ledger
  "1:rename workspace/drafts/open/*/layer/*/log.txt", // half of the plan is applied
  "2:rename workspace/drafts/open/*/joined/*.json", // all of it is applied
  "1:ledger: call planned|started|waiting to done", // the call has joined the draft
  "2:ledger: create call planned", // the model's next step
  "3:rename workspace/drafts/open/*/joined/*.json", // the second call has ended
];

const keeping = (folder: string) => [
  "1:rename workspace/drafts/undo/*/entry.json",
  "1:link workspace/drafts/undo/*/before/0", // preparing
  "2:rename workspace/drafts/undo/*/entry.json", // staged
  "1:rename workspace/drafts/undo/*/gone/0", // the journal says that it is applied
  `1:mkdir ${folder}/*/new`, // half of the changes are in place
  "3:rename workspace/drafts/undo/*/entry.json", // all of them are
];

export const namedSteps: Record<Kind, string[]> = {
  approve: [
    ...joining,
    "1:ledger: create card made", // the answer is delivered and the effects are listed
    "1:ledger: create approval open",
    "1:posts: keep card", // the record of the card is written
    "1:ledger: create conversation known", // the card is posted
    "1:ledger: turn running to done",
    "1:ledger: approval open to approved", // the click has come
    "1:ledger: turn parked|running to running", // the click is taken
    "1:ledger: approval approved to consumed",
    ...keeping("site"), // the approval is consumed
    "1:ledger: approval consumed to consumed", // kept
    "1:ledger: draft open to kept", // the record says so
    "1:rename workspace/drafts/open/*.discarded-*", // the draft is kept; its layer is still there
  ],
  deny: [
    "1:ledger: approval open to denied",
    "1:ledger: turn parked|running to running", // the click is taken
    "1:ledger: draft open to discarded",
    "1:rename workspace/drafts/open/*.discarded-*",
  ],
  own: [
    ...keeping("workspace/files/channel:general"),
    "1:ledger: create card made", // kept
    "1:ledger: create approval consumed",
    "1:posts: keep card",
    "1:ledger: draft open to kept",
    "1:rename workspace/drafts/open/*.discarded-*",
    "1:ledger: turn running to done",
  ],
  undo: [
    "1:rename workspace/drafts/undo/*.undo/entry.json", // the click has come
    "2:rename workspace/drafts/undo/*.undo/entry.json", // staged
    "1:rmdir site/*/new", // half of it is undone
    "3:rename workspace/drafts/undo/*.undo/entry.json", // all of it is
    "2:ledger: approval consumed to consumed", // the journal has forgotten it
  ],
  "own undo": [
    "2:rename workspace/drafts/undo/*.undo/entry.json",
    "1:rmdir workspace/files/channel:general/*/new",
    "3:rename workspace/drafts/undo/*.undo/entry.json",
    "1:ledger: approval consumed to consumed",
  ],
  job: [
    "1:view: the command runs",
    "1:rename workspace/drafts/open/*/joined/*.json", // the job has ended
    "1:ledger: create draft open",
    "1:rename workspace/drafts/open/*/layer/*/log.txt",
    "2:rename workspace/drafts/open/*/joined/*.json",
    "1:ledger: create approval consumed",
  ],
};
