/** `webhooks`, `streams` and `mail` of a remote server: what is sent of events. */
import { replayedOption } from '../admin/webhooks.ts';
import { isObject } from '../json.ts';
import { columns } from '../terminal/columns.ts';
import { at, type RemoteCommand, requestAbout } from './command.ts';
import { cellOf, describeResponse } from './describe.ts';

const NAME = [['<name>', 'name of the webhook']] as const;

export const deliveryCommands: readonly RemoteCommand[] = [
  {
    words: 'webhooks list',
    summary: 'list the webhooks, and how far each is',
    text: webhooksText,
    request: () => ({ method: 'GET', path: '/webhooks' }),
  },
  {
    words: 'webhooks test',
    summary: 'send a signed test event',
    args: NAME,
    isChange: true,
    request: ([name]) => ({ method: 'POST', path: `/webhooks/${at(name)}/test` }),
  },
  {
    words: 'webhooks replay',
    summary: 'deliver events again',
    args: NAME,
    isChange: true,
    define: (command) => command.addOption(replayedOption()),
    request: ([name], { since }) => ({
      method: 'POST',
      path: `/webhooks/${at(name)}/replay`,
      body: { since: new Date(Number(since)).toISOString() },
    }),
  },
  {
    words: 'streams list',
    summary: 'list the streams of receivers, and how their delivery is',
    columns: ['id', 'clientId', 'host', 'status', 'lastError'],
    request: () => ({ method: 'GET', path: '/event-streams' }),
  },
  requestAbout(
    'streams remove',
    'remove a stream',
    [['<id>', 'ID of the stream, as listed']],
    ['DELETE', (id) => `/event-streams/${id}`],
  ),
  {
    words: 'mail status',
    summary: 'show when mail was sent, or why it is not',
    request: () => ({ method: 'GET', path: '/mail' }),
  },
  {
    words: 'mail test',
    summary: 'send a test mail',
    args: [['<email>', 'address that it is sent to']],
    isChange: true,
    request: ([email]) => ({ method: 'POST', path: '/mail/test', body: { email } }),
  },
];

function webhooksText(found: unknown): string {
  const all = Array.isArray(found) ? found.filter(isObject) : [];
  if (all.length === 0) return describeResponse([]);
  const rows = all.map(({ name, host, progress }) => {
    const { attempts = null, lastError = null, deliveredAt = null } = isObject(progress) ? progress : {};
    return [name, host, attempts, deliveredAt, lastError].map(cellOf);
  });
  return columns([['name', 'host', 'failures', 'last delivered', 'last error'], ...rows]);
}
