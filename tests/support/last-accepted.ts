/** How long an ended token is still accepted, as its bearer observes it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';

/**
 * Seconds after which a token was taken for the last time, of which is asked until it is refused. A request counts from its
 * beginning: however slow the machine is, one that began behind the bound is refused.
 * @param present answers the status of a request with the token
 */
export async function lastTaken(present: () => Promise<number>): Promise<number> {
  const ended = performance.now();
  for (let taken = 0; ; await sleep(50)) {
    const begun = performance.now() - ended;
    const status = await present();
    if (status === 401) return taken / 1000;
    // An outage is neither a refusal nor an acceptance.
    expect([200, 503]).toContain(status);
    if (status === 200) taken = begun;
  }
}
