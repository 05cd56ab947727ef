/** How long an ended token is still accepted, as its bearer observes it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';

/**
 * Seconds after which a token was last accepted, tried until it is rejected. A request counts from its
 * start: however slow the machine is, one that started after the bound is rejected.
 * @param present returns the status of a request with the token
 */
export async function lastTaken(present: () => Promise<number>): Promise<number> {
  const ended = performance.now();
  for (let taken = 0; ; await sleep(50)) {
    const begun = performance.now() - ended;
    const status = await present();
    if (status === 401) return taken / 1000;
    // An outage neither rejects nor accepts.
    expect([200, 503]).toContain(status);
    if (status === 200) taken = begun;
  }
}
