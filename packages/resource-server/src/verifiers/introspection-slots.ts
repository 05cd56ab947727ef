/** Shares the concurrent introspection requests, so that junk tokens of some clients cannot displace those of others. */

/** The maximum number of concurrent requests; more would only wait for each other. */
const MAX_CONCURRENT = 256;
/** How many of them tokens of an unfamiliar shape can use. */
const MAX_UNFAMILIAR = MAX_CONCURRENT / 2;

/** What a request for introspection is shared by. */
export interface SlotClaim {
  /** The remote address of the client; `null` if it is unknown. */
  readonly address: string | null;
  /** Whether the token has the shape of one that was active. */
  readonly isFamiliar: boolean;
}

/** Whether a slot is free for a claim. An address can use no more slots than it leaves for others. */
export function hasFreeSlot(used: Iterable<SlotClaim>, claim: SlotClaim): boolean {
  let count = 0;
  let own = 0;
  for (const { address } of used) {
    count += 1;
    if (address !== null && address === claim.address) own += 1;
  }
  return own < (claim.isFamiliar ? MAX_CONCURRENT : MAX_UNFAMILIAR) - count;
}

const MAX_SHAPES = 64;
/** Characters, as of `opaque.` or `gho_`. */
const PREFIX_LENGTH = 4;

/** The shapes of active tokens: issuers use one length, or one beginning. */
export function createTokenShapes() {
  const shapes = new Set<string | number>();
  return {
    add(token: string): void {
      for (const shape of [token.length, token.slice(0, PREFIX_LENGTH)])
        if (shapes.size < MAX_SHAPES) shapes.add(shape);
    },
    /** Whether a token looks like one that was active; true as long as there was none. */
    has: (token: string): boolean =>
      shapes.size === 0 || shapes.has(token.length) || shapes.has(token.slice(0, PREFIX_LENGTH)),
  };
}
