/** Every request with its response. */

export interface LoggedRequest {
  method: string;
  /** Behind `/api/v10`, without the query. */
  path: string;
  query: URLSearchParams;
  /** The route's name, as `messages.create`; empty where there is none. */
  route: string;
  headers: Record<string, string | string[] | undefined>;
  /** The JSON body, or `payload_json` of a form. */
  body: unknown;
  files: { name: string; bytes: number }[];
  /** By the service's clock. */
  at: number;
  /** Absent while in progress, or if the connection broke. */
  status?: number;
  /** What was answered. */
  answer?: unknown;
  /** Discord's code of a refusal. */
  code?: number;
}
