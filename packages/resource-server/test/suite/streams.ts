/** Event streams, which would outlive the token that admitted them. */
import { describe, expect, it } from 'vitest';
import type { StreamOptions } from '../../src/index.ts';
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

/** Asked so often that a test need not wait. */
const every = 0.01;

export function describeStreams(stage: Stage): void {
  let now = NOW;
  let isLive: (claims: { readonly sub: string }) => boolean = () => true;

  /** A server that answers with streams, to which time and revocation can be done. */
  function serveStreams(streams: StreamOptions | false = { every }, reply = stream): Promise<Started> {
    now = NOW;
    isLive = () => true;
    const verifier = stage.issuer.verifier({ isLive: (claims) => isLive(claims) });
    return stage.serve({ verifier, clock: () => now, ...{ streams } }, () => reply);
  }

  const open = async ({ send }: Started, method: string, claims = {}): Promise<Promise<Received>[]> => {
    const response = send({ method, ...bearer(await stage.issuer.token({ exp: NOW + 100, ...claims })) });
    await expectOpen(response);
    return [response];
  };

  /** Longer than some looks at the token take. */
  async function expectOpen(...responses: Promise<Received>[]): Promise<void> {
    const pause = new Promise((resolve) => setTimeout(resolve, 80, 'open'));
    expect(await Promise.race([...responses, pause])).toBe('open');
  }

  describe('a stream that would outlive its token', () => {
    it('ends with it when it was opened by GET, after all that was written', async () => {
      const started = await serveStreams();
      const opened = await open(started, 'GET');
      now = NOW + 104;
      await expectOpen(...opened);
      now = NOW + 105;
      const [response] = await Promise.all(opened);
      expect([response?.status, response?.text]).toEqual([200, EVENT]);
    });

    it('may finish the answer to another method, for a while', async () => {
      const started = await serveStreams({ every, grace: 60 });
      const opened = await open(started, 'POST');
      now = NOW + 164;
      await expectOpen(...opened);
      now = NOW + 165;
      expect((await Promise.all(opened)).map(({ text }) => text)).toEqual([EVENT]);
    });

    it.each(['GET', 'POST'])('T095 ends when it is revoked, and no other, by %s', async (method) => {
      const started = await serveStreams();
      const ended = await open(started, method, { sub: 'mallory' });
      const others = await open(started, method);
      isLive = ({ sub }) => sub !== 'mallory';
      expect((await Promise.all(ended)).map(({ text }) => text)).toEqual([EVENT]);
      await expectOpen(...others);
    });

    it('goes on through an outage, to the end of the token', async () => {
      const started = await serveStreams();
      const opened = await open(started, 'GET');
      isLive = () => {
        throw new Error('store is down');
      };
      await expectOpen(...opened);
      now = NOW + 105;
      await Promise.all(opened);
    });

    it('goes on for ever where the operator says so', async () => {
      const opened = await open(await serveStreams(false), 'GET');
      now = NOW + 10_000;
      await expectOpen(...opened);
    });

    it('is an event stream: nothing else is cut off', async () => {
      const headers = { 'content-type': 'application/json' };
      const opened = await open(await serveStreams({ every }, { ...stream, headers }), 'GET');
      now = NOW + 10_000;
      await expectOpen(...opened);
    });
  });
}
