/** Paths of servers that would hide something else or be hidden, also where a proxy removes their prefix. */
import { describe, expect, it } from 'vitest';
import { SettingsError } from '../src/errors.ts';
import { checkPaths } from '../src/server/server-paths.ts';

function issuesOf(paths: readonly string[], strippedPrefix: string | null = null): readonly string[] {
  try {
    checkPaths(paths, ['/token', '/account/*', '/.well-known'], '/mcp', strippedPrefix);
    return [];
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return error.issues;
  }
}

describe('the path of a server', () => {
  it('is none of the authorization server or of the application', () => {
    for (const path of ['/token', '/Account', '/mcp'])
      expect(issuesOf(['/files', path])).toEqual([
        expect.stringContaining(`servers.1.path is ${path}, which`),
      ]);
    expect(issuesOf(['/files', '/tokens'])).toEqual([]);
  });

  it('is not below a route that serves all paths below it', () => {
    for (const path of ['/account/files', '/Account/files/one'])
      expect(issuesOf(['/files', path])).toEqual([`servers.1.path is ${path}, which is below /account/*`]);
    expect(issuesOf(['/files', '/accounts/files', '/mcp/files'])).toEqual([]);
  });

  it('is none of them without the prefix that a proxy removes, nor that of another server', () => {
    for (const path of ['/tools/token', '/tools/account', '/tools/mcp', '/tools/files'])
      expect(issuesOf(['/files', path], '/tools')).toEqual([
        `servers.1.path is ${path}, which without strippedPrefix would be ${path.slice(6).replace('account', 'account/*')}`,
      ]);
    expect(issuesOf(['/files', '/tools/token', '/tools/files'])).toEqual([]);
    expect(issuesOf(['/tools/notes', '/toolset/token'], '/tools')).toEqual([]);
  });
});
