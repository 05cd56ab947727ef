/** What guards and gateway use of the authorization server after a change of servers has replaced it. */
import type { AuthorizationServer, ComponentEvent } from '@portcullis/authorization-server';
import { describe, expect, it } from 'vitest';
import { createLastingServer } from '../src/server/lasting-server.ts';

/** An authorization server that answers with its name. */
function named(name: string) {
  const recorded: ComponentEvent[] = [];
  const answer = async () => name;
  const server = {
    ...{ jwks: answer, isLive: answer, readPersonalAccessToken: answer, upstreamToken: answer },
    ...{
      upstreamIdToken: answer,
      signUserAssertion: answer,
      dpopNonces: { secret: new Uint8Array(1), previousSecrets: [] },
    },
    componentPages: { findSession: answer, look: {} },
    connectedAccounts: { find: answer, replace: answer, createLink: answer },
    recordOf: (_events: object, event: ComponentEvent) => void recorded.push(event),
  };
  return { server: server as unknown as AuthorizationServer, recorded };
}

describe('the lasting authorization server', () => {
  it('is always the one that serves now, also for those that got it before', async () => {
    const [first, second] = [named('first'), named('second')];
    let serving = first.server;
    const { componentPages, connectedAccounts, recordOf, ...lasting } = createLastingServer(() => serving);
    const ask = () =>
      Promise.all([
        lasting.jwks(),
        lasting.isLive({} as never),
        lasting.readPersonalAccessToken(''),
        lasting.upstreamToken({} as never),
        lasting.upstreamIdToken('', ''),
        lasting.signUserAssertion({} as never, ''),
        componentPages.findSession({} as never),
        connectedAccounts.find('', ''),
        connectedAccounts.replace('', '', 1),
        connectedAccounts.createLink('', ''),
      ]);
    expect(new Set(await ask())).toEqual(new Set(['first']));
    serving = second.server;
    expect(new Set(await ask())).toEqual(new Set(['second']));
    recordOf({ isRoutine: () => false, isBulk: () => false, listener: () => {} }, { type: 'tool.changed' });
    expect([first.recorded.length, second.recorded.length]).toEqual([0, 1]);
  });
});
