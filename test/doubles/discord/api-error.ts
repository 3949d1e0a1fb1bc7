/** Refusals with Discord's texts: status, code, message and, for forms, a tree of faulty fields. */

import type { DiscordCode, FormCode } from "./rules.ts";

type FormLeaf = { _errors: { code: string; message: string }[] };
type FormTree = { [key: string]: FormTree } | FormLeaf;

export class ApiError extends Error {
  readonly status: number;
  readonly code: DiscordCode;
  readonly errors: FormTree | undefined;

  constructor(status: number, code: DiscordCode, message: string, errors?: FormTree) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.errors = errors;
  }

  get body(): unknown {
    return {
      message: this.message,
      code: this.code,
      ...(this.errors === undefined ? {} : { errors: this.errors }),
    };
  }
}

const known = {
  notFound: [404, 0, "404: Not Found"],
  methodNotAllowed: [405, 0, "405: Method Not Allowed"],
  unauthorized: [401, 0, "401: Unauthorized"],
  unknownChannel: [404, 10003, "Unknown Channel"],
  unknownGuild: [404, 10004, "Unknown Guild"],
  unknownMember: [404, 10007, "Unknown Member"],
  unknownMessage: [404, 10008, "Unknown Message"],
  unknownRole: [404, 10011, "Unknown Role"],
  unknownUser: [404, 10013, "Unknown User"],
  unknownEmoji: [400, 10014, "Unknown Emoji"],
  unknownWebhook: [404, 10015, "Unknown Webhook"],
  unknownInteraction: [404, 10062, "Unknown interaction"],
  unknownCommand: [404, 10063, "Unknown application command"],
  tooManyReactions: [400, 30010, "Maximum number of reactions reached (20)"],
  unauthorizedApplication: [403, 20012, "You are not authorized to perform this action on this application"],
  entityTooLarge: [413, 40005, "Request entity too large"],
  alreadyAcknowledged: [400, 40060, "Interaction has already been acknowledged."],
  missingAccess: [403, 50001, "Missing Access"],
  notOnDms: [403, 50003, "Cannot execute action on a DM channel"],
  notTheAuthor: [403, 50005, "Cannot edit a message authored by another user"],
  emptyMessage: [400, 50006, "Cannot send an empty message"],
  cannotMessageUser: [403, 50007, "Cannot send messages to this user"],
  notATextChannel: [400, 50008, "Cannot send messages in a non-text channel"],
  missingPermissions: [403, 50013, "Missing Permissions"],
  bulkDeleteCount: [
    400,
    50016,
    "Provided too few or too many messages to delete. Must provide at least 2 and fewer than 100 messages to delete",
  ],
  systemMessage: [403, 50021, "Cannot execute action on a system message"],
  invalidChannelType: [400, 50024, "Cannot execute action on this channel type"],
  invalidWebhookToken: [401, 50027, "Invalid Webhook Token"],
  invalidRecipient: [400, 50033, "Invalid Recipient(s)"],
  bulkDeleteAge: [400, 50034, "You can only bulk delete messages that are under 14 days old."],
  archivedThread: [400, 50083, "Thread is archived"],
  invalidJson: [400, 50109, "The request body contains invalid JSON."],
  noMutualGuilds: [400, 50278, "Cannot send messages to this user due to having no mutual guilds"],
  cannotReplyWithoutHistory: [400, 160002, "You cannot reply without permission to read message history"],
  threadExists: [400, 160004, "A thread has already been created for this message"],
  threadLocked: [400, 160005, "Thread is locked"],
} as const satisfies Record<string, readonly [number, DiscordCode, string]>;

/** One of the refusals that have no details. */
export function refusal(name: keyof typeof known): ApiError {
  const [status, code, message] = known[name];
  return new ApiError(status, code, message);
}

/** Where a wrong value is: keys and indexes from the root of the body. */
export type FieldPath = (string | number)[];

/** Collects all errors of a form and refuses it as a whole, like Discord. */
export interface Form {
  wrong(path: FieldPath, code: FormCode, message: string): void;
  check(): void;
}

export function createForm(): Form {
  const root: Record<string, FormTree> = {};
  return {
    wrong(path, code, message) {
      let node = root;
      for (const key of path) {
        node[key] ??= {};
        node = node[key] as Record<string, FormTree>;
      }
      const leaf = node as unknown as Partial<FormLeaf>;
      leaf._errors = [...(leaf._errors ?? []), { code, message }];
    },
    check() {
      if (Object.keys(root).length > 0) throw new ApiError(400, 50035, "Invalid Form Body", root);
    },
  };
}

/** A form in which one field is wrong. */
export function wrongField(path: FieldPath, code: FormCode, message: string): ApiError {
  const form = createForm();
  form.wrong(path, code, message);
  try {
    form.check();
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
  }
  throw new Error("a form with a wrong field passed its check");
}
