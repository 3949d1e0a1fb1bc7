/**
 * How much of what Slack takes, by a name of ours: characters, items, bytes, uses or milliseconds. A size can't be checked
 * without its rule, because what checks sizes takes nothing but what `most` gives. The numbers of Block Kit were compared with
 * the comments of @slack/types 3.2.0, which repeat the reference, and those of methods with the arguments on their pages.
 */
import { type Rule, read } from "../rules.ts";

const docs = "https://docs.slack.dev";
const block = (name: string) => `${docs}/reference/block-kit/blocks/${name}-block`;
const element = (name: string) => `${docs}/reference/block-kit/block-elements/${name}-element`;
const object = (name: string) => `${docs}/reference/block-kit/composition-objects/${name}-object`;
const method = (name: string) => `${docs}/reference/methods/${name}`;
const views = `${docs}/reference/views/modal-views`;
const measured = "https://github.com/slackapi/bolt-js/issues/2509";

const rule = read("2026-11-28");
const size = (most: number, page: string, says: string) => ({ ...rule(page, says), most });

export const slackSizes = {
  "action-id": size(255, element("button"), "An action id has 255 characters at most."),
  "actions-elements": size(25, block("actions"), "An actions block has 25 elements at most."),
  "alt-text": size(
    1000,
    method("files.getUploadURLExternal"),
    "The description of a file has 1,000 characters at most.",
  ),
  "block-id": size(255, block("section"), "A block id has 255 characters at most."),
  "block-weight": size(125, measured, "A block that is no markdown counts about 125 characters by itself."),
  "blocks-together": size(13_297, measured, "The blocks of a message have about 13,200 characters together at most."),
  "button-label": size(75, element("button"), "The accessibility label of a button has 75 characters at most."),
  "button-text": size(75, element("button"), "The text of a button has 75 characters at most."),
  "button-url": size(3000, element("button"), "The address of a button has 3,000 characters at most."),
  "button-value": size(2000, element("button"), "The value of a button has 2,000 characters at most."),
  "checkbox-options": size(10, element("checkboxes"), "Checkboxes and radio buttons have 10 options at most."),
  "confirm-button": size(30, object("confirmation-dialog"), "A button of a confirmation has 30 characters at most."),
  "confirm-text": size(300, object("confirmation-dialog"), "The text of a confirmation has 300 characters at most."),
  "confirm-title": size(100, object("confirmation-dialog"), "The title of a confirmation has 100 characters at most."),
  "context-actions": size(5, block("context-actions"), "A context actions block has 5 elements at most."),
  "context-elements": size(10, block("context"), "A context block has 10 elements at most."),
  "group-dm-people": size(8, method("conversations.open"), "A group DM is opened with 8 people at most."),
  "header-text": size(150, block("header"), "The text of a header has 150 characters at most."),
  "history-page": size(999, method("conversations.history"), "A page of a history has 999 messages at most."),
  "image-alt-text": size(2000, block("image"), "The alternative text of an image has 2,000 characters at most."),
  "input-label": size(2000, block("input"), "The label and the hint of an input have 2,000 characters at most."),
  "input-text": size(3000, element("plain-text-input"), "A text input takes 3,000 characters at most."),
  "list-page": size(999, method("conversations.list"), "A page of a list of conversations has fewer than 1,000 items."),
  "loading-messages": size(10, method("assistant.threads.setStatus"), "A status has 10 loading messages at most."),
  "markdown-text": size(12_000, block("markdown"), "All markdown blocks of a message have 12,000 characters at most."),
  "members-page": size(1000, method("conversations.members"), "A page of members has 1,000 items at most."),
  "message-attachments": size(100, method("chat.postMessage"), "A message has 100 attachments at most."),
  "message-blocks": size(50, `${docs}/reference/block-kit/blocks`, "A message has 50 blocks at most."),
  "modal-title": size(24, views, "The title and the buttons of a modal have 24 characters at most."),
  "open-views": size(3, method("views.push"), "Three views stand on each other at most."),
  "option-description": size(75, object("option"), "The description of an option has 75 characters at most."),
  "option-groups": size(100, element("select-menu"), "A menu has 100 groups of options at most."),
  "option-text": size(75, object("option"), "The text of an option has 75 characters at most."),
  "option-value": size(150, object("option"), "The value of an option has 150 characters at most."),
  "overflow-options": size(5, element("overflow-menu"), "An overflow menu has 5 options at most."),
  "placeholder-text": size(150, element("plain-text-input"), "A placeholder has 150 characters at most."),
  "replies-page": size(1000, method("conversations.replies"), "A page of a thread has 1,000 messages at most."),
  "response-url-ms": size(
    30 * 60_000,
    `${docs}/interactivity/handling-user-interaction`,
    "A response URL is good for 30 minutes.",
  ),
  "response-url-uses": size(
    5,
    `${docs}/interactivity/handling-user-interaction`,
    "A response URL takes 5 messages at most.",
  ),
  "search-page": size(100, method("search.messages"), "A page of a search has 100 matches at most."),
  "section-field": size(2000, block("section"), "A field of a section has 2,000 characters at most."),
  "section-fields": size(10, block("section"), "A section has 10 fields at most."),
  "section-text": size(3000, block("section"), "The text of a section has 3,000 characters at most."),
  "select-options": size(100, element("select-menu"), "A menu has 100 options at most."),
  "snippet-bytes": size(1024 * 1024, method("files.getUploadURLExternal"), "A snippet has 1 MB at most."),
  "suggested-prompts": size(
    4,
    method("assistant.threads.setSuggestedPrompts"),
    "An agent suggests 4 prompts at most in a thread.",
  ),
  "text-object": size(3000, object("text"), "A text object has 3,000 characters at most."),
  "trigger-ms": size(
    3000,
    `${docs}/interactivity/handling-user-interaction`,
    "A trigger id is good for three seconds.",
  ),
  "update-bytes": size(4000, method("chat.update"), "The text of a changed message has 4,000 characters at most."),
  "view-blocks": size(100, views, "A view has 100 blocks at most."),
  "view-bytes": size(250_000, method("views.open"), "A view has 250 KB at most."),
  "view-id-text": size(255, views, "The callback id and the external id of a view have 255 characters at most."),
  "view-metadata": size(3000, views, "The private metadata of a view has 3,000 characters at most."),
} as const satisfies Record<string, Rule & { most: number }>;

declare const ruled: unique symbol;

/** A number that a rule gives. */
export type Size = number & { readonly [ruled]: true };

export function most(key: keyof typeof slackSizes): Size {
  return slackSizes[key].most as number as Size;
}
