/** One request to a model service and its answer, as they went over the wire. */
export interface ModelTraffic {
  url: string;
  /** The body, without headers, because those hold keys. */
  request: string;
  /** 0 if the connection failed. */
  status: number;
  response: string;
  /** ISO 8601. */
  at: string;
  milliseconds: number;
  /** As the service counts them; absent if it does not say. */
  inputTokens?: number;
  cachedTokens?: number;
  outputTokens?: number;
}
