/**
 * Signs people in through Slack (OpenID Connect), Discord (OAuth 2, scope `identify`) or another OpenID provider.
 * openid-client checks state, nonce, issuer, audience, signature and expiry. Access tokens are not kept.
 */
import { randomBytes } from "node:crypto";
import type { ClientAuth, Configuration } from "openid-client";
import { z } from "zod";
import { oneLine } from "../../lib/text/sanitize.ts";
import type { SignInRecord } from "../../ports/account.ts";
import type { SignedInPerson } from "../../ports/visitor.ts";

export type ServiceName = SignInRecord["platform"];

export interface ServiceSettings {
  slack: { clientId: string; clientSecret: string; team: string; issuer: string } | null;
  discord: { clientId: string; clientSecret: string; apiUrl: string } | null;
  oidc: {
    name: string;
    issuer: string;
    clientId: string;
    clientSecret: string | null;
    /** Besides `openid`. */
    scopes: readonly string[];
    rolesClaim: string | null;
  } | null;
}

export interface Secrets {
  state: string;
  nonce: string;
  verifier: string;
}

export interface SignedIn {
  person: SignedInPerson;
  claimed?: string[];
}

export interface Services {
  /** In the order of the page. */
  list(): { service: ServiceName; name: string }[];
  /** For newDevice (cookies.ts): a browser that has signed in with this service. */
  deviceKey(service: ServiceName): string;
  secrets(): Promise<Secrets>;
  /** The address at the service to which the browser goes. Rejects if the service can't be reached. */
  address(service: ServiceName, secrets: Secrets): Promise<string>;
  /** `query` is what the service sent back. Rejects if anything in it, or in the tokens, is not as it must be. */
  finish(service: ServiceName, query: string, secrets: Secrets): Promise<SignedIn>;
}

/** The person may not sign in here, although the service knows who it is. The message is for that person. */
export class NotAdmitted extends Error {}

const timeoutSeconds = 10;
const maxNameCharacters = 100;
const maxIdCharacters = 255;
const maxClaimedRoles = 200;
const callbackPath = "/sign-in/callback";

const slackClaims = z.object({
  "https://slack.com/user_id": z.string().regex(/^[UW][A-Z0-9]+$/),
  "https://slack.com/team_id": z.string(),
  name: z.string().optional(),
});
const discordUser = z.object({
  id: z.string().regex(/^\d{1,20}$/),
  username: z.string(),
  global_name: z.string().nullish(),
});

export function createServices(settings: ServiceSettings, publicUrl: string | null): Services {
  const configurations = new Map<ServiceName, Promise<Configuration>>();
  /** In place of a secret that a provider did not give. Other processes and the next one don't know it. */
  const ownKey = randomBytes(32).toString("base64url");
  const library = () => import("openid-client");

  /** Who asks at the same time shares one answer. A failure is forgotten. */
  async function configurationOf(service: ServiceName): Promise<Configuration> {
    const found = configurations.get(service) ?? configure(service);
    configurations.set(service, found);
    try {
      return await found;
    } catch (thrown) {
      if (configurations.get(service) === found) configurations.delete(service);
      throw thrown;
    }
  }

  async function configure(service: ServiceName): Promise<Configuration> {
    const client = await library();
    if (service === "discord") {
      const { clientId, clientSecret, apiUrl } = needed(settings.discord);
      const metadata = {
        issuer: new URL(apiUrl).origin,
        authorization_endpoint: `${new URL(apiUrl).origin}/oauth2/authorize`,
        token_endpoint: `${apiUrl}/oauth2/token`,
      };
      const found = new client.Configuration(metadata, clientId, clientSecret, client.ClientSecretPost(clientSecret));
      found.timeout = timeoutSeconds;
      if (isLoopback(apiUrl)) client.allowInsecureRequests(found);
      return found;
    }
    const { issuer, clientId, clientSecret } = service === "slack" ? needed(settings.slack) : needed(settings.oidc);
    const authentication = clientSecret === null ? client.None() : secretAuthentication(client, clientSecret);
    return await client.discovery(new URL(issuer), clientId, clientSecret ?? undefined, authentication, {
      timeout: timeoutSeconds,
      // By default, the library does not check the signature of a token that it received over TLS.
      execute: [client.enableNonRepudiationChecks, ...(isLoopback(issuer) ? [client.allowInsecureRequests] : [])],
    });
  }

  /** Slack does not announce PKCE for apps with a secret, and refuses it. Its nonce protects the code. */
  const usesPkce = (service: ServiceName) => service !== "slack";

  function scopesOf(service: ServiceName): string {
    if (service === "discord") return "identify";
    return ["openid", ...(service === "slack" ? ["profile"] : needed(settings.oidc).scopes)].join(" ");
  }

  return {
    list: () => [
      ...(settings.slack === null ? [] : [{ service: "slack" as const, name: "Slack" }]),
      ...(settings.discord === null ? [] : [{ service: "discord" as const, name: "Discord" }]),
      ...(settings.oidc === null ? [] : [{ service: "oidc" as const, name: settings.oidc.name }]),
    ],
    deviceKey: (service) => `${service} ${settings[service]?.clientSecret ?? ownKey}`,
    async secrets() {
      const client = await library();
      return { state: client.randomState(), nonce: client.randomNonce(), verifier: client.randomPKCECodeVerifier() };
    },
    async address(service, { state, nonce, verifier }) {
      const client = await library();
      const found = await configurationOf(service);
      const challenge = await client.calculatePKCECodeChallenge(verifier);
      const { href } = client.buildAuthorizationUrl(found, {
        redirect_uri: `${publicUrl}${callbackPath}/${service}`,
        scope: scopesOf(service),
        state,
        ...(service === "discord" ? {} : { nonce }),
        ...(service === "slack" ? { team: needed(settings.slack).team } : {}),
        ...(usesPkce(service) ? { code_challenge: challenge, code_challenge_method: "S256" } : {}),
      });
      return href;
    },
    async finish(service, query, { state, nonce, verifier }) {
      const client = await library();
      const found = await configurationOf(service);
      const tokens = await client.authorizationCodeGrant(
        found,
        new URL(`${publicUrl}${callbackPath}/${service}${query}`),
        {
          expectedState: state,
          ...(service === "discord" ? {} : { expectedNonce: nonce, idTokenExpected: true }),
          ...(usesPkce(service) ? { pkceCodeVerifier: verifier } : {}),
        },
      );
      if (service === "discord") {
        const address = new URL(`${needed(settings.discord).apiUrl}/users/@me`);
        const response = await client.fetchProtectedResource(found, tokens.access_token, address, "GET");
        if (!response.ok) throw new Error(`Discord answered ${response.status}`);
        const { id, username, global_name } = discordUser.parse(await response.json());
        return { person: personOf("discord", id, global_name ?? username) };
      }
      const claims = tokens.claims();
      if (claims === undefined) throw new Error("the answer has no ID token");
      return service === "slack"
        ? slackPerson(claims, needed(settings.slack).team)
        : oidcPerson(claims, needed(settings.oidc).rolesClaim);
    },
  };
}

/** Providers that don't say how they want the secret want it in the header (OpenID Connect Discovery, section 3). */
function secretAuthentication(client: typeof import("openid-client"), secret: string): ClientAuth {
  const [inBody, inHeader] = [client.ClientSecretPost(secret), client.ClientSecretBasic(secret)];
  return (server, ...request) => {
    const takesBody = server.token_endpoint_auth_methods_supported?.includes("client_secret_post") === true;
    return (takesBody ? inBody : inHeader)(server, ...request);
  };
}

/** Slack's ids of people are unique within a workspace only. */
function slackPerson(claims: Readonly<Record<string, unknown>>, team: string): SignedIn {
  const found = slackClaims.parse(claims);
  if (found["https://slack.com/team_id"] !== team)
    throw new NotAdmitted("You signed in with another Slack workspace. Choose the one in which Remora is.");
  const id = found["https://slack.com/user_id"];
  return { person: personOf("slack", id, found.name ?? id) };
}

function oidcPerson(claims: Readonly<Record<string, unknown>>, rolesClaim: string | null): SignedIn {
  const id = z.string().min(1).max(maxIdCharacters).parse(claims.sub);
  const name = [claims.name, claims.preferred_username, claims.email].find((one) => typeof one === "string") ?? id;
  const person = personOf("oidc", id, String(name));
  if (rolesClaim === null) return { person };
  const given = claims[rolesClaim];
  const all: unknown[] = Array.isArray(given) ? given : [given];
  return { person, claimed: all.filter((one) => typeof one === "string").slice(0, maxClaimedRoles) };
}

function personOf(platform: ServiceName, id: string, name: string): SignedInPerson {
  return { platform, id, name: oneLine(name, maxNameCharacters) || id };
}

function isLoopback(address: string): boolean {
  return ["127.0.0.1", "localhost", "[::1]"].includes(new URL(address).hostname);
}

function needed<T>(settings: T | null): T {
  if (settings === null) throw new TypeError("this way to sign in is not configured");
  return settings;
}
