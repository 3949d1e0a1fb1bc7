/** A card's copy for one person is written like the reply of a turn. Its turn id is that of the card's turn and the person. */

/** Turn ids contain only letters and digits (inbox.ts). */
const separator = ".";

export function copyTurnId(turnId: string, userId: string): string {
  return turnId + separator + userId;
}

/** The turn's own id, also from the id of a copy. */
export function turnIdOfCopy(turnId: string): string {
  const [own = turnId] = turnId.split(separator, 1);
  return own;
}
