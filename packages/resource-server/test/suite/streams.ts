/** Event streams that would outlive their token. */

import { describe, expect, it } from 'vitest';
import type { StreamOptions } from '../../src/options.ts';
import { NOW } from '../support/issuer.ts';
import type { Received, Reply, Started } from '../support/server.ts';
import { bearer, type Stage } from './stage.ts';

const EVENT = 'data: hello\n\n';
const stream: Reply = {
  status: 200,
  headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' },
  body: EVENT,
  isOpen: true,
};

/** Seconds between checks, short enough for a test. */
const every = 0.01;

export function describeStreams(stage: Stage): void {
  let now = NOW;
  /** Requests that have passed the guard. */
  let handled = 0;
  let isLive: (claims: { readonly sub: string }) => boolean = () => true;

  /** Starts a server of event streams whose clock and revocation the test controls. */
  function serveStreams(streams: StreamOptions | false = { every }, reply = stream): Promise<Started> {
    now = NOW;
    isLive = () => true;
    const verifier = stage.issuer.verifier({ isLive: (claims) => isLive(claims) });
    return stage.serve({ verifier, clock: () => now, ...{ streams } }, () => {
      handled += 1;
      return reply;
    });
  }

  const open = async (
    { send }: Started,
    method: string,
    claims = {},
    ...fields: readonly [string, string][]
  ): Promise<Promise<Received>[]> => {
    const before = handled;
    const token = await stage.issuer.token({ exp: NOW + 100, ...claims });
    const response = send({ method, ...bearer(token, ...fields) });
    // The clock may move only once the token was accepted.
    await expect.poll(() => handled).toBe(before + 1);
    await expectOpen(response);
    return [response];
  };

  /** Waits for longer than several checks of the token take. */
  async function expectOpen(...responses: Promise<Received>[]): Promise<void> {
    const pause = new Promise((resolve) => setTimeout(resolve, 80, 'open'));
    expect(await Promise.race([...responses, pause])).toBe('open');
  }

  describe('a stream that would outlive its token', () => {
    it('ends an event stream opened by GET with its token, after delivering all that was written', async () => {
      const started = await serveStreams();
      const opened = await open(started, 'GET');
      now = NOW + 104;
      await expectOpen(...opened);
      now = NOW + 105;
      const [response] = await Promise.all(opened);
      expect([response?.status, response?.text]).toEqual([200, EVENT]);
    });

    it('lets an event stream that responds to POST finish within the grace period', async () => {
      const started = await serveStreams({ every, grace: 60 });
      const opened = await open(started, 'POST');
      now = NOW + 164;
      await expectOpen(...opened);
      now = NOW + 165;
      expect((await Promise.all(opened)).map(({ text }) => text)).toEqual([EVENT]);
    });

    it('ends a subscription with its token, without the grace period of a response to a call', async () => {
      const started = await serveStreams({ every, grace: 60 });
      const opened = await open(started, 'POST', {}, ['mcp-method', 'subscriptions/listen']);
      const call = await open(started, 'POST', {}, ['mcp-method', 'tools/call']);
      now = NOW + 104;
      await expectOpen(...opened);
      now = NOW + 105;
      expect((await Promise.all(opened)).map(({ text }) => text)).toEqual([EVENT]);
      await expectOpen(...call);
    });

    it.each(['GET', 'POST'])(
      'T095 ends the event streams of a revoked token, and no others: %s',
      async (method) => {
        const started = await serveStreams();
        const ended = await open(started, method, { sub: 'mallory' });
        const others = await open(started, method);
        isLive = ({ sub }) => sub !== 'mallory';
        expect((await Promise.all(ended)).map(({ text }) => text)).toEqual([EVENT]);
        await expectOpen(...others);
      },
    );

    it('ends the event streams of a grant as soon as its end is reported, and no others', async () => {
      let report: (grantIds: readonly string[]) => void = () => undefined;
      const unsubscribe = () => {
        report = () => undefined;
      };
      const started = await serveStreams({
        every: 3600,
        endedGrants(listener) {
          report = listener;
          return unsubscribe;
        },
      });
      const ended = await open(started, 'GET', { sub: 'mallory', grant_id: 'ended' });
      const others = await open(started, 'GET');
      report(['ended']);
      await expectOpen(...ended);
      isLive = ({ sub }) => sub !== 'mallory';
      let texts: readonly string[] = [];
      void Promise.all(ended).then((responses) => {
        texts = responses.map(({ text }) => text);
      });
      // On node:http, a response is looked at for the first time when it has been open for a second.
      await expect
        .poll(() => {
          report(['ended']);
          return texts;
        })
        .toEqual([EVENT]);
      await expectOpen(...others);
    });

    it('keeps event streams open through an outage, until the token expires', async () => {
      const started = await serveStreams();
      const opened = await open(started, 'GET');
      isLive = () => {
        throw new Error('store is down');
      };
      await expectOpen(...opened);
      now = NOW + 105;
      await Promise.all(opened);
    });

    it('keeps event streams open if the option streams is false', async () => {
      const opened = await open(await serveStreams(false), 'GET');
      now = NOW + 10_000;
      await expectOpen(...opened);
    });

    it('never ends open responses that are not event streams', async () => {
      const headers = { 'content-type': 'application/json' };
      const opened = await open(await serveStreams({ every }, { ...stream, headers }), 'GET');
      now = NOW + 10_000;
      await expectOpen(...opened);
    });
  });
}
