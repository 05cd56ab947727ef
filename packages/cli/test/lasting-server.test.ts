/** What guards and gateway use of the authorization server after a change of servers has replaced it. */
import type { AuthorizationEvent, AuthorizationServer } from '@portcullis/authorization-server';
import { describe, expect, it } from 'vitest';
import { createLastingServer } from '../src/server/lasting-server.ts';

/** An authorization server that answers with its name. */
function named(name: string) {
  const recorded: AuthorizationEvent[] = [];
  const answer = async () => name;
  const server = {
    ...{ jwks: answer, isLive: answer, readPersonalAccessToken: answer, upstreamToken: answer },
    ...{ upstreamIdToken: answer, signUserAssertion: answer, dpopNonceSecret: new Uint8Array(1) },
    connectedAccounts: { find: answer, replace: answer, createLink: answer },
    record: (event: AuthorizationEvent) => void recorded.push(event),
  };
  return { server: server as unknown as AuthorizationServer, recorded };
}

describe('the lasting authorization server', () => {
  it('is always the one that serves now, also for those that got it before', async () => {
    const [first, second] = [named('first'), named('second')];
    let serving = first.server;
    const { connectedAccounts, record, ...lasting } = createLastingServer(() => serving);
    const ask = () =>
      Promise.all([
        lasting.jwks(),
        lasting.isLive({} as never),
        lasting.readPersonalAccessToken(''),
        lasting.upstreamToken({} as never),
        lasting.upstreamIdToken(''),
        lasting.signUserAssertion({} as never, ''),
        connectedAccounts.find('', ''),
        connectedAccounts.replace('', '', 1),
        connectedAccounts.createLink('', ''),
      ]);
    expect(new Set(await ask())).toEqual(new Set(['first']));
    serving = second.server;
    expect(new Set(await ask())).toEqual(new Set(['second']));
    record({ type: 'tool.changed' } as AuthorizationEvent);
    expect([first.recorded.length, second.recorded.length]).toEqual([0, 1]);
  });
});
