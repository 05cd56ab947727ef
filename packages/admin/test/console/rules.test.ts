/** The rules of a server in the console: in words, and with the place that the command line and the audit log name. */
import { describe, expect, it } from 'vitest';
import { defineTestServers } from '../../../gateway/test/support/gateway.ts';
import { rulesTable } from '../../src/console/policy/rules.ts';

const backend = { url: 'http://127.0.0.1:9/mcp' };
const requires = { acr: ['2fa'], maxAge: 600 };
const servers = defineTestServers(
  [
    { path: '/memory', backend },
    {
      path: '/files',
      backend,
      tools: { edit_file: { requires }, pay: { requires: { acr: ['gold'], maxAge: 90, dpop: true } } },
    },
    { path: '/all', merges: { fs: '/files', mem: '/memory' } },
  ],
  'http://127.0.0.1:8484',
);
const textOf = async (path: string) => {
  const server = servers.find((one) => one.path === path);
  if (server === undefined) throw new Error(`no server ${path}`);
  const markup = String(await rulesTable(server, servers));
  return markup
    .replace(/<[^>]+>/g, ' ')
    .replaceAll('&quot;', '"')
    .replace(/\s+/g, ' ');
};

describe('the rules of a server', () => {
  it('are in words, with their path in the configuration file', async () => {
    const text = await textOf('/files');
    expect(text).toContain('a sign-in with two factors at most 10 minutes ago servers[1].tools["edit_file"]');
    expect(text).toContain(
      'a sign-in of class gold at most 90 seconds ago · a token bound to a key (DPoP) servers[1].tools["pay"]',
    );
  });

  it('are those of its members where it merges others, and proposed scopes only where none is written', async () => {
    const merged = await textOf('/all');
    expect(merged).toContain('/files as fs__');
    expect(merged).toContain('/memory as mem__');
    expect(merged).not.toContain('Scopes are proposed');
    expect(await textOf('/memory')).toContain('Scopes are proposed');
  });
});
