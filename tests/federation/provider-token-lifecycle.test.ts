/** The lifecycle of provider tokens with real processes: refreshed once, revoked there or here, and kept through restarts. */
import { describe, expect, it } from 'vitest';
import type { IdentityProvider } from '../support/identity-providers/identity-provider.ts';
import { present, registerTestClient } from './client.ts';
import { type Stage, stageGithub, stageMisbehaving, stageOidc, until, userAt } from './stage.ts';

async function connect({ portcullis, party }: Stage<IdentityProvider>, id: string, login = 'ada') {
  const program = await registerTestClient(portcullis.url, portcullis.resource);
  const tokens = await program.redeem(await program.begin(userAt(party, id, login)));
  return { program, tokens };
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Seconds within which a revocation at the provider is detected: the status check interval, plus one for the clock. */
const BOUND = 2;

describe('refreshing provider tokens', () => {
  it('[GW-3P-12] T084 ten concurrent calls with an expired provider token refresh it once, and all are served', async () => {
    const stage = await stageOidc();
    stage.party.tokenLifetime = 2;
    const { tokens } = await connect(stage, 'company');
    expect((await present(stage.portcullis.resource, tokens)).status).toBe(200);
    stage.party.tokenLifetime = 3600;
    await pause(2500);
    const before = stage.party.renewals();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => present(stage.portcullis.resource, tokens)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    for (const answer of answers) expect(await answer.json()).toMatchObject({ there: 200, owner: 'ada' });
    expect(stage.party.renewals() - before).toBe(1);
  });

  it('[GW-3P-12] a refresh of provider tokens survives a restart', async () => {
    const stage = await stageMisbehaving();
    stage.party.tokenLifetime = 2;
    const { tokens } = await connect(stage, 'company');
    await pause(2500);
    stage.party.tokenLifetime = 3600;
    stage.party.at('refresh', { kind: 'slow', milliseconds: 1500 });
    const before = stage.party.renewals();
    const answer = present(stage.portcullis.resource, tokens);
    await until(() => stage.party.renewals() > before);
    await stage.portcullis.restart();
    expect((await answer).status).toBe(200);
    stage.party.at('refresh', null);
    expect(await (await present(stage.portcullis.resource, tokens)).json()).toMatchObject({ owner: 'ada' });
    expect(stage.party.renewals()).toBe(before + 1);
  });

  it('[GW-3P-12] a refresh of provider tokens survives a killed process', async () => {
    // The lease for refreshing lasts as long as an exchange may take.
    const stage = await stageMisbehaving({ outbound: { timeout: 4000 } });
    Object.assign(stage.party, { tokenLifetime: 2, rotates: false });
    const { tokens } = await connect(stage, 'company');
    await pause(2500);
    stage.party.tokenLifetime = 3600;
    stage.party.at('refresh', { kind: 'slow', milliseconds: 10_000 });
    const before = stage.party.renewals();
    const answer = present(stage.portcullis.resource, tokens).catch(() => null);
    await until(() => stage.party.renewals() > before);
    await stage.portcullis.restart(undefined, 'SIGKILL');
    stage.party.at('refresh', null);
    expect(await answer).toBeNull();
    // The killed process still holds the lease for a short while.
    await until(async () => (await present(stage.portcullis.resource, tokens)).status === 200);
    expect(stage.party.renewals()).toBe(before + 2);
  });

  it('[GW-3P-12] T084 an identity provider outage answers 503 with Retry-After, ends nothing, and recovers', async () => {
    const stage = await stageMisbehaving();
    stage.party.tokenLifetime = 2;
    const { program, tokens } = await connect(stage, 'company');
    await pause(2500);
    stage.party.at('refresh', { kind: 'status', status: 429, retryAfter: 5 });
    const before = stage.party.renewals();
    const startedAt = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => present(stage.portcullis.resource, tokens)),
    );
    for (const { status, headers } of answers) {
      expect(status).toBe(503);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    }
    const refreshed = await program.refresh(tokens.refresh_token);
    expect([refreshed.status, await refreshed.json()]).toEqual([
      503,
      expect.objectContaining({ error: 'temporarily_unavailable' }),
    ]);
    // One in each backoff, of whole seconds; a busy machine takes several for these requests.
    const backoffs = Math.ceil((performance.now() - startedAt) / 4000);
    expect(stage.party.renewals()).toBeGreaterThan(before);
    expect(stage.party.renewals()).toBeLessThanOrEqual(before + backoffs);
    stage.party.tokenLifetime = 3600;
    stage.party.at('refresh', null);
    await until(async () => (await present(stage.portcullis.resource, tokens)).status === 200);
    expect((await program.refresh(tokens.refresh_token)).status).toBe(200);
  });
});

describe('revocation', () => {
  it.each([
    { provider: 'GitHub', id: 'github', start: stageGithub },
    { provider: 'oidc-provider', id: 'company', start: stageOidc },
  ])(
    '[GW-3P-10 GW-3P-11] access revoked at $provider is rejected here within the status check interval, including refreshes',
    async ({ id, start }) => {
      const stage: Stage<IdentityProvider & { revokeAll(): unknown }> = await start();
      const { program, tokens } = await connect(stage, id);
      const other = await connect(stage, id, 'bob');
      expect((await present(stage.portcullis.resource, tokens)).status).not.toBe(401);
      await stage.party.revokeAll();
      const again = await connect(stage, id, 'carol');
      await pause(BOUND * 1000);
      for (const dead of [tokens, other.tokens]) {
        const answer = await present(stage.portcullis.resource, dead);
        expect(answer.status).toBe(401);
        expect(answer.headers.get('www-authenticate')).toContain('error="invalid_token"');
      }
      const refreshed = await program.refresh(tokens.refresh_token);
      expect([refreshed.status, await refreshed.json()]).toEqual([
        400,
        expect.objectContaining({ error: 'invalid_grant' }),
      ]);
      // Positive twin: a later grant is live.
      expect((await present(stage.portcullis.resource, again.tokens)).status).not.toBe(401);
    },
  );

  it.each([
    { provider: 'GitHub', id: 'github', start: stageGithub },
    { provider: 'oidc-provider', id: 'company', start: stageOidc },
  ])(
    '[GW-3P-11] a token revoked by a client is revoked at $provider, and no other user’s',
    async ({ id, start }) => {
      const stage: Stage<IdentityProvider & { isLive(token: string): unknown }> = await start();
      const first = await connect(stage, id);
      const theirs = stage.party.given.filter((token) => !token.includes('.'));
      const second = await connect(stage, id, 'bob');
      await first.program.revoke(first.tokens.refresh_token);
      expect((await present(stage.portcullis.resource, first.tokens)).status).toBe(401);
      await until(async () => !(await stage.party.isLive(theirs[0] ?? '')));
      expect((await present(stage.portcullis.resource, second.tokens)).status).not.toBe(401);
      const others = stage.party.given.filter((token) => !token.includes('.') && !theirs.includes(token));
      expect(await stage.party.isLive(others[0] ?? '')).toBe(true);
    },
  );

  it('gives a client nothing that the same user granted another client only', async () => {
    const stage = await stageGithub();
    const a = await connect(stage, 'github');
    const b = await connect(stage, 'github');
    expect(new Set(stage.party.given).size).toBe(2);
    await a.program.revoke(a.tokens.refresh_token);
    await until(() => !stage.party.isLive(stage.party.given[0] ?? ''));
    expect(stage.party.isLive(stage.party.given[1] ?? '')).toBe(true);
    expect((await present(stage.portcullis.resource, b.tokens)).status).not.toBe(401);
  });
});

describe('a restart', () => {
  it('[GW-CONS-42 GW-3P-15] a federated login continues after a restart in the middle', async () => {
    const stage = await stageOidc();
    const { portcullis, party } = stage;
    const program = await registerTestClient(portcullis.url, portcullis.resource);
    let restarts = 0;
    const user = userAt(party, 'company', 'ada', async (request) => {
      const isBack = request.url.startsWith(`${portcullis.url}/callback/`);
      if (isBack && restarts++ === 0) await portcullis.restart();
      return fetch(request);
    });
    const tokens = await program.redeem(await program.begin(user));
    expect(restarts).toBe(1);
    expect(await (await present(portcullis.resource, tokens)).json()).toMatchObject({ owner: 'ada' });
  });
});
