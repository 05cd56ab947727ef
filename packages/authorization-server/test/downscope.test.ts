/** Rules of downscoping: a token has no more than its grant, one resource, and only what is still defined. */
import { describe, expect, it } from 'vitest';
import { downscope } from '../src/token/downscope.ts';

const NOTES = 'https://mcp.example/notes';
const FILES = 'https://mcp.example/files';

const notes = {
  resource: NOTES,
  scopes: { 'notes:read': 'Read', 'notes:write': 'Write', 'notes:delete': 'Delete' },
  hierarchy: { 'notes:write': ['notes:read'] },
};
const context = { store: {}, options: { resources: new Map([[NOTES, notes]]), decideScopesOf: {} } } as never;
const recipient = { clientId: 'app', accountId: 'user_1' };

const request = (
  scopes: readonly string[] | null,
  granted: readonly string[],
  resources: readonly string[] = [],
) => downscope(context, recipient, { resources: [NOTES], scopes: granted }, { resources, scopes });

describe('the scopes of a token', () => {
  it.each([
    {
      description: 'all granted scopes, if it names none',
      scopes: null,
      expect: ['notes:read', 'notes:delete'],
    },
    { description: 'fewer scopes', scopes: ['notes:read'], expect: ['notes:read'] },
    {
      description: 'the same scopes',
      scopes: ['notes:delete', 'notes:read'],
      expect: ['notes:delete', 'notes:read'],
    },
  ])('[AS-REF-64] a token request is granted $description', async ({ scopes, expect: issued }) => {
    const granted = ['notes:read', 'notes:delete'];
    expect(await request(scopes, granted)).toEqual({ resource: NOTES, scopes: issued });
  });

  it.each([
    { description: 'a scope that was not granted', scopes: ['notes:write'], granted: ['notes:read'] },
    {
      description: 'one beside a granted scope',
      scopes: ['notes:read', 'notes:delete'],
      granted: ['notes:read'],
    },
    { description: 'a scope of another resource', scopes: ['files:read'], granted: ['notes:read'] },
    { description: 'a scope that was removed since', scopes: ['old'], granted: ['notes:read', 'old'] },
    { description: 'any scope of an empty grant', scopes: ['notes:read'], granted: [] },
  ])('[AS-REF-64] a token request never widens its grant to $description', async ({ scopes, granted }) => {
    await expect(request(scopes, granted)).rejects.toMatchObject({ code: 'invalid_scope' });
    expect((await request(null, granted)).scopes).toEqual(granted.filter((scope) => scope !== 'old'));
  });

  it('a token request may name a scope that a granted scope implies, and not the other way round', async () => {
    expect((await request(['notes:read'], ['notes:write'])).scopes).toEqual(['notes:read']);
    await expect(request(['notes:write'], ['notes:read'])).rejects.toMatchObject({ code: 'invalid_scope' });
  });
});

describe('the resource of a token', () => {
  it('a token request never widens its grant to another resource', async () => {
    await expect(request(null, ['notes:read'], [FILES])).rejects.toMatchObject({ code: 'invalid_target' });
    expect((await request(null, ['notes:read'], [NOTES])).resource).toBe(NOTES);
  });
});
