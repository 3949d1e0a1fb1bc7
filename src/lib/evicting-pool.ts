/**
 * Holds what strangers keep open, within limits on its number and bytes. Above a limit, the owner (a network) with the most of
 * it gives up what it has had for longest. So a newcomer always gets in, a flood pushes out itself, and what is quick is gone
 * before its turn comes.
 */

export interface EvictingPoolOptions {
  maxMembers: number;
  maxBytes?: number;
}

export interface EvictingPool {
  /** `evict` is called at most once, while another member enters or one grows; then the member has left already. */
  enter(owner: string, evict: () => void): PoolMember;
}

export interface PoolMember {
  /** May evict any member, even this one. Does nothing after it has left. */
  grow(bytes: number): void;
  leave(): void;
}

interface Owner {
  /** Oldest first. */
  members: Set<Member>;
  bytes: number;
}

interface Member {
  bytes: number;
  leave(): void;
  evict(): void;
}

export function createEvictingPool({
  maxMembers,
  maxBytes = Number.POSITIVE_INFINITY,
}: EvictingPoolOptions): EvictingPool {
  const owners = new Map<string, Owner>();
  let members = 0;
  let bytes = 0;

  function evictFrom(weight: (owner: Owner) => number): void {
    let heaviest: Owner | undefined;
    for (const owner of owners.values())
      if (heaviest === undefined || weight(owner) > weight(heaviest)) heaviest = owner;
    const [oldest] = heaviest?.members ?? [];
    oldest?.leave();
    oldest?.evict();
  }

  function makeRoom(): void {
    while (members > maxMembers) evictFrom((owner) => owner.members.size);
    while (bytes > maxBytes) evictFrom((owner) => owner.bytes);
  }

  return {
    enter(name, evict) {
      const owner = owners.get(name) ?? { members: new Set(), bytes: 0 };
      owners.set(name, owner);
      const member: Member = {
        bytes: 0,
        evict,
        leave() {
          if (!owner.members.delete(member)) return;
          members -= 1;
          bytes -= member.bytes;
          owner.bytes -= member.bytes;
          if (owner.members.size === 0) owners.delete(name);
        },
      };
      owner.members.add(member);
      members += 1;
      makeRoom();
      return {
        leave: member.leave,
        grow(more) {
          if (!owner.members.has(member)) return;
          member.bytes += more;
          owner.bytes += more;
          bytes += more;
          makeRoom();
        },
      };
    },
  };
}
