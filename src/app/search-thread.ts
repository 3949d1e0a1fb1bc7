/** The process's one thread for searching: memory and the chat log share it, and so do agents that run in one process. */
import { createThread } from "../lib/worker-thread.ts";

/** Has room for one file of maximum size, and for the chat log. */
const maxMegabytes = 384;

export const searchThread = createThread({ name: "search", maxMegabytes });
