/** `portcullis webhooks`: shows how far the delivery of events is, tries a receiver, and delivers events again. */
import { idPrefixOf, waitingSince } from '@portcullis/admin/operations';
import type { Command } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import { receiversOf, sendTestEvent } from '../server/receivers.ts';
import type { Settings } from '../settings/schema.ts';
import { cleanLine } from '../terminal/clean.ts';
import { columns } from '../terminal/columns.ts';
import { timeOf } from '../terminal/times.ts';
import { deliveryState } from './delivery-state.ts';
import { sinceOption } from './event-filter.ts';
import { findInstallation } from './installation.ts';
import { type Output, type StoreTask, storeCommands } from './store-commands.ts';
import { addSubcommand } from './subcommand.ts';

/** `since`: epoch milliseconds, of `replay`. */
type Task = StoreTask<{ readonly since: number }>;

export function defineWebhooks(program: Command, processContext: ProcessContext): void {
  const group = program
    .command('webhooks')
    .summary('show the delivery of events to webhooks, try one, and deliver events again');
  const define = storeCommands(group, processContext, (task: Task) => task);
  define('list', 'list the webhooks, and how far each is', list).option('--json', 'as JSON');
  addSubcommand(group, 'test', 'send a signed test event', TEST)
    .argument('<name>', 'name of the webhook')
    .action((name: string, flags: object) => tryWebhook(name, flags, processContext));
  define('replay', 'deliver events again', replay, REPLAY)
    .argument('<name>', 'name of the webhook')
    .addOption(
      sinceOption('from this time on, such as 2026-03-01T04:00Z, or 15m, 6h, 7d ago').makeOptionMandatory(),
    );
}

const TEST = 'Its type is webhook.test. The response of the receiver is the result.';
const REPLAY =
  'A receiver recognizes what it already has by the header webhook-id. It also ends the wait after a failure.';

async function list({ store, settings }: Task): Promise<Output> {
  const all = await store.listWebhooks();
  const found = await Promise.all(
    receiversOf(settings).map(async ({ open: _, ...receiver }) => {
      const progress = all.find(({ name }) => name === receiver.name) ?? null;
      return { receiver, progress, since: progress && (await waitingSince(store, progress.cursor)) };
    }),
  );
  const rows = found.map(({ receiver: { name, url }, progress, since }) => [
    name,
    cleanLine(url),
    deliveryState(progress, 'nothing delivered yet', 'last delivered'),
    since === null ? '' : timeOf(since),
  ]);
  return {
    json: found.map(({ receiver, progress, since }) => ({ ...progress, waitingSince: since, ...receiver })),
    text:
      rows.length === 0
        ? 'No webhooks are configured.\n'
        : columns([['name', 'url', 'state', 'events waiting since'], ...rows]),
  };
}

async function tryWebhook(name: string, flags: object, processContext: ProcessContext): Promise<void> {
  const { settings } = await findInstallation(flags, processContext, ['webhooks', 'eventExports']);
  const receiver = findReceiver(name, settings);
  const { id, kind, reason } = await sendTestEvent(receiver);
  if (kind !== 'delivered')
    throw new Error(`${receiver.url} did not accept the event: ${cleanLine(reason ?? '')}`);
  processContext.write(`${name} accepted the event ${id}.\n`);
}

async function replay({ store, settings, args: [name = ''], flags: { since } }: Task): Promise<Output> {
  findReceiver(name, settings);
  if (!(await store.rewindWebhook(name, idPrefixOf(since))))
    throw new Error(`No server has started with the webhook ${name} yet: nothing to deliver again.`);
  return `Events since ${timeOf(Math.floor(since / 1000))} are delivered to ${name} again.\n`;
}

function findReceiver(name: string, settings: Settings): ReturnType<typeof receiversOf>[number] {
  const receivers = receiversOf(settings);
  const found = receivers.find((one) => one.name === name);
  if (found !== undefined) return found;
  const names = receivers.map((one) => one.name).join(', ');
  throw new Error(
    `There is no webhook ${cleanLine(name)}: ${names === '' ? 'none is configured' : `there is ${names}`}`,
  );
}
