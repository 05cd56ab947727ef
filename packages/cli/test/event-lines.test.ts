/** Audit events as rows of a table. */
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import { expect, it } from 'vitest';
import { tableHeader, tableRow } from '../src/admin/event-lines.ts';

const event: AuditEventRecord = {
  id: '1',
  at: Date.parse('2026-03-01T04:05:06.789Z'),
  type: 'call.finished',
  clientId: 'client_1',
  accountId: 'user_1',
  grantId: 'grant_1',
  resource: 'https://mcp.example/files',
  transactionId: null,
  details: { server: '/files', tool: 'read\x1b[2Jfile', decision: 'denied', outcome: 'refused' },
  expiresAt: 0,
};

/** A store that knows one user and one client, and counts look-ups. */
function createStore() {
  const asked: string[] = [];
  const find = (known: string, found: object) => async (id: string) => {
    asked.push(id);
    return (id === known ? found : null) as never;
  };
  return {
    asked,
    findAccount: find('user_1', { email: 'ada@example.com' }),
    findClient: find('client_1', { metadata: { client_name: 'Notes' } }),
  };
}

it('a row has date and time, the names of user and client, the tool and the result, without control characters', async () => {
  const store = createStore();
  const rowOf = tableRow(store);
  const row = await rowOf(event);
  expect(row.split(/ {2,}/)).toEqual([
    '2026-03-01 04:05:06',
    'call.finished',
    'ada@example.com',
    'Notes',
    '/files readfile',
    'denied, refused',
  ]);
  expect(row.indexOf('denied')).toBe(tableHeader.indexOf('result'));
  await rowOf(event);
  expect(store.asked).toEqual(['user_1', 'client_1']);
});

it('a row names an unknown user and client by their identifiers, and shows what else the event has', async () => {
  const row = await tableRow(createStore())({
    ...event,
    type: 'key.created',
    clientId: 'client_2',
    accountId: 'user_2',
    resource: null,
    details: { keyId: 'key_1' },
  });
  expect(row.split(/ {2,}/)).toEqual(['2026-03-01 04:05:06', 'key.created', 'user_2', 'client_2', 'key_1']);
});
