/** Clients of some sessions, which refresh until they have a response. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { authorize, redeem, refresh, signIn } from './browser.ts';
import type { Place } from './places.ts';
import type { ServerProcess } from './servers.ts';

export const CLIENTS = 20;

/** The refresh tokens of so many sessions. */
export async function openSessions(server: ServerProcess, sessions: number = CLIENTS): Promise<string[]> {
  const signedIn = await signIn(server);
  const tokens: string[] = [];
  for (let n = 0; n < sessions; n += 1) {
    const { body } = await redeem(server, await authorize(server, signedIn));
    tokens.push(String(body['refresh_token']));
  }
  return tokens;
}

/** Refreshes until there is a response: a client tries again after any other status than 200 and 400. @returns the successor */
export async function refreshAtLast(server: ServerProcess, token: string, pause = 500): Promise<string> {
  for (;;) {
    const answer = await refresh(server, token).catch(() => null);
    if (answer?.status === 200) return String(answer.body['refresh_token']);
    expect(answer?.status ?? 503).toBe(503);
    await sleep(pause);
  }
}

export function refreshAll(server: ServerProcess, tokens: readonly string[]): Promise<string[]> {
  return Promise.all(tokens.map((token) => refreshAtLast(server, token)));
}

export async function expectNoReuse({ ask }: Pick<Place, 'ask'>): Promise<void> {
  expect(await ask('SELECT id FROM grants WHERE revoked_at IS NOT NULL')).toEqual([]);
}
