/** Deleted sessions of clients: none opens again, however many were deleted after it within the bound. */
import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { createSessionTable } from '../src/backends/clients/session-table.ts';
import { MAX_DELETED_SESSIONS } from '../src/limits.ts';
import type { GatewayRequest } from '../src/servers/request.ts';
import { createSealer } from '../src/sessions/sealer.ts';

const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {} };
const owner = {
  issuer: 'https://as.example',
  clientId: 'c',
  subject: 'alice',
  resource: 'https://a.example/mcp',
};

it('keeps the newest deleted sessions closed when one more than the bound is deleted', async () => {
  const table = createSessionTable(createSealer(randomBytes(32)), async () => {
    throw new Error('No backend is needed.');
  });
  const requestWith = (id?: string) =>
    ({
      owner,
      principal: { grantId: 'g' },
      incoming: { headers: id === undefined ? {} : { 'mcp-session-id': id } },
    }) as unknown as GatewayRequest;
  const sealed = Array.from({ length: MAX_DELETED_SESSIONS + 1 }, (_, index) => {
    const session = table.open(requestWith(), `session ${index}`, initialize);
    const id = table.seal(requestWith(), session);
    table.delete(session);
    return id;
  });
  for (const id of [sealed[1], sealed.at(-2), sealed.at(-1)])
    expect(() => table.find(requestWith(id))).toThrow(expect.objectContaining({ status: 404 }));
  const open = table.open(requestWith(), 'open', initialize);
  expect(table.find(requestWith(table.seal(requestWith(), open)))).toBe(open);
  await table.close();
});
