/** `webhooks`, `streams` and `mail` of a remote server: what is sent of events. */
import { isObject } from '../json.ts';
import { columns } from '../terminal/columns.ts';
import type { RemoteCommands } from './command.ts';
import { cellOf, describeResponse } from './describe.ts';

export const deliveryCommands: RemoteCommands = {
  'webhooks list': { text: webhooksText, request: 'GET /webhooks' },
  'webhooks test': { request: 'POST /webhooks/:name/test' },
  'webhooks replay': {
    request: 'POST /webhooks/:name/replay',
    body: (_args, { since }) => ({ since: new Date(Number(since)).toISOString() }),
  },
  'streams list': {
    columns: ['id', 'clientId', 'host', 'status', 'lastError'],
    request: 'GET /event-streams',
  },
  'streams remove': { request: 'DELETE /event-streams/:id' },
  'mail status': { request: 'GET /mail' },
  'mail test': { request: 'POST /mail/test', body: ([email]) => ({ email }) },
};

function webhooksText(found: unknown): string {
  const all = Array.isArray(found) ? found.filter(isObject) : [];
  if (all.length === 0) return describeResponse([]);
  const rows = all.map(({ name, host, progress }) => {
    const found = isObject(progress) ? progress : {};
    const { attempts = null, lastError = null, deliveredAt = null, waitingSince = null } = found;
    return [name, host, attempts, deliveredAt, waitingSince, lastError].map(cellOf);
  });
  return columns([['name', 'host', 'failures', 'last delivered', 'waiting since', 'last error'], ...rows]);
}
