import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createSealer, type Owner } from '../src/index.ts';

const key = randomBytes(32);
const owner: Owner = {
  issuer: 'https://as.example',
  clientId: 'inspector',
  subject: 'alice',
  resource: 'https://as.example/files',
  backend: 'http://127.0.0.1:3000/mcp',
};

describe('sealed handles', () => {
  it('a sealed handle opens in any process that has the master key, and shows nothing of its text', () => {
    const sealed = createSealer(key).seal('session', owner, 'backend-session-1');
    expect(createSealer(key).open('session', owner, sealed)).toBe('backend-session-1');
    expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('backend-session');
    expect(sealed).toMatch(/^[\w-]+$/);
  });

  it.each([
    { description: 'user', other: { subject: 'mallory' } },
    { description: 'client of the same user', other: { clientId: 'other' } },
    { description: 'server', other: { resource: 'https://as.example/github' } },
    { description: 'issuer', other: { issuer: 'https://other.example' } },
  ])('a handle does not open for another $description', ({ other }) => {
    const sealer = createSealer(key);
    const sealed = sealer.seal('session', owner, 's1');
    expect(sealer.open('session', { ...owner, ...other }, sealed)).toBeNull();
    expect(sealer.open('session', owner, sealed)).toBe('s1');
  });

  it.each(['event', 'task', 'request', 'question'] as const)(
    'a handle of the kind %s does not open for another backend behind the same path',
    (kind) => {
      const sealer = createSealer(key);
      const moved = { ...owner, backend: 'http://127.0.0.1:4000/mcp' };
      const sealed = sealer.seal(kind, owner, 'x1');
      expect(sealer.open(kind, moved, sealed)).toBeNull();
      expect(sealer.open(kind, owner, sealed)).toBe('x1');
      // Also once it has been opened.
      expect(sealer.open(kind, moved, sealed)).toBeNull();
    },
  );

  it('a handle of one kind does not open as another kind', () => {
    const sealer = createSealer(key);
    expect(sealer.open('event', owner, sealer.seal('session', owner, 's1'))).toBeNull();
  });

  it('a handle that was changed in any byte, cut, padded or written differently does not open', () => {
    const sealer = createSealer(key);
    const sealed = sealer.seal('session', owner, 's1');
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = `${sealed.slice(0, at)}${sealed[at] === 'A' ? 'B' : 'A'}${sealed.slice(at + 1)}`;
      expect(sealer.open('session', owner, changed)).toBeNull();
    }
    for (const forged of ['', 'x', sealed.slice(0, -1), `${sealed}=`, `${sealed} `, `${sealed}AAAA`])
      expect(sealer.open('session', owner, forged)).toBeNull();
  });

  it('a handle under the previous master key still opens, and one under an unknown key does not', () => {
    const next = randomBytes(32);
    const sealed = createSealer(key).seal('session', owner, 's1');
    expect(createSealer(next, [key]).open('session', owner, sealed)).toBe('s1');
    expect(createSealer(next).open('session', owner, sealed)).toBeNull();
  });
});
