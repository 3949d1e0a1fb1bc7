/** What the campaign needs of a chat service's double, in the same words for both. */

export interface ShownMessage {
  id: string;
  text: string;
  /** Labels of the buttons that can be pressed. */
  buttons: string[];
  files: string[];
  /** A stream that nobody has ended. */
  isOpen: boolean;
}

export interface Place {
  name: string;
  /** True if its messages are one conversation, so that answers have an order. */
  isOrdered: boolean;
  say(text: string): void;
}

export interface ChatService {
  env: Record<string, string>;
  places: Place[];
  /** The direct messages of somebody who has never written before. */
  newcomer(): Place;
  /** What the bot shows anywhere, oldest first. */
  shown(): ShownMessage[];
  /** Throws if the button is gone. */
  press(messageId: string, label: string): void;
  /** Each fault lasts until the returned function is called. Requests break off; `gone` also cuts the connections for events. */
  away(): () => void;
  gone(): () => void;
  refuseToken(): () => void;
  /** Routes that can answer 503 one by one. */
  routes: string[];
  failRoute(route: string): () => void;
  stop(): Promise<void>;
}
