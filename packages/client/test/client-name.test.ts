/** The default name of a client in Node: program, host and computer, as far as they are known. */
import { hostname } from 'node:os';
import { describe, expect, it } from 'vitest';
import { composeClientName, defaultClientName } from '../src/node/client-name.ts';
import { createNodeClient } from '../src/node.ts';
import { createWorld } from './support/world.ts';

describe('the name of a client', () => {
  it.each([
    [
      { program: 'Portcullis connect', host: 'Claude Desktop', machine: 'laptop-7' },
      'Portcullis connect (Claude Desktop on laptop-7)',
    ],
    [{ program: 'Portcullis', machine: 'laptop-7' }, 'Portcullis on laptop-7'],
    [{ program: 'Portcullis connect', host: 'Cursor', machine: null }, 'Portcullis connect (Cursor)'],
    [{ program: 'notes-agent', machine: null }, 'notes-agent'],
    [{ program: 'a', host: '<b>\u202ex\n y\x1b', machine: 'm' }, 'a ( b x y on m)'.replace('( ', '(')],
  ])('of %j is %s', (parts, expected) => {
    expect(composeClientName(parts)).toBe(expected);
  });

  it('cuts long parts', () => {
    const name = composeClientName({
      program: 'p'.repeat(500),
      host: 'h'.repeat(500),
      machine: 'm'.repeat(500),
    });
    expect(name.length).toBeLessThan(130);
  });

  it.each([
    ['/home/ada/agents/notes-agent.ts', 'notes-agent'],
    ['/home/ada/agents/summary/dist/index.js', 'summary'],
    ['/srv/reporter/src/bin/main.mjs', 'reporter'],
    ['', 'Portcullis client'],
  ])('by default is that of the program: %s', (script, program) => {
    expect(defaultClientName(script)).toBe(composeClientName({ program }));
  });
});

describe('what a client registers as', () => {
  const nameAt = async (clientName?: string | (() => string)) => {
    const world = await createWorld();
    const { browser, receiver } = world.user;
    const registration = clientName === undefined ? {} : { registration: { clientName } };
    await createNodeClient({
      serverUrl: world.serverUrl,
      browser,
      receiver,
      fetch,
      ...registration,
    }).signIn();
    return JSON.parse(world.as.asked('/register')[0]?.body ?? '{}').client_name;
  };

  it('names program and computer in Node, without the domain of the computer', async () => {
    const name = await nameAt();
    const [machine = ''] = hostname().split('.');
    expect(name).toContain(machine === 'localhost' ? '' : ` on ${machine}`);
    expect(name).not.toBe('Portcullis client');
    if (hostname().includes('.')) expect(name).not.toContain(hostname());
  });

  it('is the name of the options, which may be known only at the sign-in', async () => {
    expect(await nameAt('Notes')).toBe('Notes');
    expect(await nameAt(() => 'Notes of Ada')).toBe('Notes of Ada');
  });
});
