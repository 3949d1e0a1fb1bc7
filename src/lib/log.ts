/** The log as the rest of the code sees it; pino satisfies it. Fields first, then one plain sentence. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** For places that run without a log, such as single commands. */
export const silentLog: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
};
