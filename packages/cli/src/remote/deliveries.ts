/** `webhooks`, `streams` and `mail` of a remote server: what is sent of events. */
import { replayedOption } from '../admin/webhooks.ts';
import { isObject } from '../json.ts';
import { columns } from '../terminal/columns.ts';
import { type RemoteCommand, remote } from './command.ts';
import { cellOf, describeResponse } from './describe.ts';

const NAME = [['<name>', 'name of the webhook']] as const;

export const deliveryCommands: readonly RemoteCommand[] = [
  remote('webhooks list', 'list the webhooks, and how far each is', {
    text: webhooksText,
    request: 'GET /webhooks',
  }),
  remote('webhooks test', 'send a signed test event', { args: NAME, request: 'POST /webhooks/:name/test' }),
  remote('webhooks replay', 'deliver events again', {
    args: NAME,
    define: (command) => command.addOption(replayedOption()),
    request: 'POST /webhooks/:name/replay',
    body: (_args, { since }) => ({ since: new Date(Number(since)).toISOString() }),
  }),
  remote('streams list', 'list the streams of receivers, and how their delivery is', {
    columns: ['id', 'clientId', 'host', 'status', 'lastError'],
    request: 'GET /event-streams',
  }),
  remote('streams remove', 'remove a stream', {
    args: [['<id>', 'ID of the stream, as listed']],
    request: 'DELETE /event-streams/:id',
  }),
  remote('mail status', 'show when mail was sent, or why it is not', { request: 'GET /mail' }),
  remote('mail test', 'send a test mail', {
    args: [['<email>', 'address that it is sent to']],
    request: 'POST /mail/test',
    body: ([email]) => ({ email }),
  }),
];

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
