/** The part `web` of the schema: the server, its public address, and who can sign in. */
import { z } from "zod";
import { networkOf } from "../lib/public-address.ts";
import { dashboardRoles } from "../ports/visitor.ts";

const text = z.string().min(1);
const role = z.enum(dashboardRoles, "a role is viewer, approver or operator");

const publicUrl = z
  .string()
  .nullable()
  .default(null)
  .superRefine((written, context) => {
    const problem = written === null ? undefined : publicUrlProblem(written);
    if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
  })
  .transform((written) => (written === null ? null : new URL(written).origin));

function publicUrlProblem(written: string): string | undefined {
  const url = URL.parse(written);
  if (url === null || !/^https?:$/.test(url.protocol))
    return "write the whole address, such as https://remora.example.com";
  if (url.username !== "" || url.search !== "" || url.hash !== "") return "write only the scheme, host and port";
  if (url.pathname !== "/")
    return `Remora can't be below a path such as ${url.pathname}. Give it a host name of its own, such as https://remora.example.com`;
  const isLoopback = ["127.0.0.1", "localhost", "[::1]"].includes(url.hostname);
  if (url.protocol === "http:" && !isLoopback)
    return "use https: without it, others on the network could read passwords and take over sessions";
  return undefined;
}

const signIn = z
  .strictObject({
    slack: z
      .strictObject({
        clientId: text,
        clientSecret: text,
        team: z.string().regex(/^[TE][A-Z0-9]+$/, "use the workspace's id, such as T0123ABCD"),
      })
      .nullable()
      .default(null),
    discord: z
      .strictObject({
        clientId: z.string().regex(/^\d+$/, "use the application's id, a number in quotes"),
        clientSecret: text,
      })
      .nullable()
      .default(null),
    oidc: z
      .strictObject({
        name: text.max(40).default("single sign-on"),
        issuer: z.url({ protocol: /^https?$/, error: "use the provider's address, such as https://login.example.com" }),
        clientId: text,
        clientSecret: text.nullable().default(null),
        scopes: z.array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, "a scope is one word")).default(["profile"]),
        rolesClaim: text.nullable().default(null),
        roles: z.record(text, role).default({}),
      })
      .refine(({ issuer }) => /^https:|^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\])(?::|\/|$)/.test(issuer), {
        message: "use https",
        path: ["issuer"],
      })
      .nullable()
      .default(null),
  })
  .prefault({});

export const web = z
  .strictObject({
    host: z.enum(["127.0.0.1", "0.0.0.0", "::1"]).default("127.0.0.1"),
    port: z.number().int().min(0).max(65_535).default(4180),
    publicUrl,
    trustedProxies: z
      .array(
        text.refine((written) => networkOf(written) !== undefined, "write an address or a network, such as 10.0.0.0/8"),
      )
      .default([]),
    signIn,
    accounts: z
      .record(
        z
          .string()
          .regex(
            /^(?:slack:[UW][A-Z0-9]+|discord:\d+|oidc:.+)$/,
            "write slack:U0123, discord:ID or oidc:SUBJECT, with ids, not names",
          ),
        role,
      )
      .default({}),
  })
  .refine(({ publicUrl: url, signIn: ways }) => url !== null || Object.values(ways).every((way) => way === null), {
    message: "set publicUrl too: the service sends people back to that address",
    path: ["signIn"],
  })
  .prefault({});
