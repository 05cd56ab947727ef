/** `portcullis webhooks`: shows how far the delivery of events is, tries a receiver, and delivers events again. */
import { idPrefixOf } from '@portcullis/admin/operations';
import type { WebhookProgress } from '@portcullis/authorization-server/store';
import type { Command } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import { receiversOf, sendTestEvent } from '../server/receivers.ts';
import type { SettingName } from '../settings/schema.ts';
import { cleanJson, cleanLine } from '../terminal/clean.ts';
import { columns } from '../terminal/columns.ts';
import { timeOf } from '../terminal/times.ts';
import { sinceOption } from './event-filter.ts';
import { findInstallation, type Installation } from './installation.ts';
import { ADMIN_SETTINGS, addSubcommand } from './subcommand.ts';
import { withStore } from './with-store.ts';

type Flags = Readonly<Partial<Record<SettingName, string>>> & {
  readonly json?: true;
  /** Epoch milliseconds. */
  readonly since?: number;
};

export function defineWebhooks(program: Command, processContext: ProcessContext): void {
  const group = program
    .command('webhooks')
    .summary('show the delivery of events to webhooks, try one, and deliver events again');
  const list = addSubcommand(group, 'list', 'list the webhooks, and how far each is');
  list.option('--json', 'as JSON').action(() => show(list.opts(), processContext));
  const test = addSubcommand(group, 'test', 'send a signed test event', ADMIN_SETTINGS, TEST);
  test
    .argument('<name>', 'name of the webhook')
    .action((name: string) => tryWebhook(name, test.opts(), processContext));
  const replay = addSubcommand(group, 'replay', 'deliver events again', ADMIN_SETTINGS, REPLAY);
  replay
    .argument('<name>', 'name of the webhook')
    .addOption(
      sinceOption('from this time on, such as 2026-03-01T04:00Z, or 15m, 6h, 7d ago').makeOptionMandatory(),
    )
    .action((name: string) => replayEvents(name, replay.opts(), processContext));
}

const TEST = 'Its type is webhook.test. The response of the receiver is the result.';
const REPLAY =
  'A receiver recognizes what it already has by the header webhook-id. It also ends the wait after a failure.';

async function show(flags: Flags, processContext: ProcessContext): Promise<void> {
  const installation = await findInstallation(flags, processContext);
  const progress = await withStore(installation, ({ store }) => store.listWebhooks());
  const rows = receiversOf(installation.settings).map(({ open: _, ...receiver }) => ({
    ...receiver,
    progress: progress.find(({ name }) => name === receiver.name) ?? null,
  }));
  if (flags.json) {
    const listed = rows.map(({ progress: state, ...receiver }) => ({ ...state, ...receiver }));
    processContext.write(`${cleanJson(listed)}\n`);
    return;
  }
  if (rows.length === 0) processContext.write('No webhooks are configured.\n');
  const lines = rows.map(({ name, url, progress: state }) => [name, cleanLine(url), stateOf(state)]);
  if (lines.length > 0) processContext.write(columns([['name', 'url', 'state'], ...lines]));
}

function stateOf(progress: WebhookProgress | null): string {
  if (progress === null) return 'no server has started with it yet';
  const { lastError, attempts, nextAttemptAt, deliveredAt } = progress;
  const last = deliveredAt === null ? 'nothing delivered yet' : `last delivered ${timeOf(deliveredAt)}`;
  if (attempts === 0) return last;
  const failures = attempts === 1 ? 'the last attempt failed' : `the last ${attempts} attempts failed`;
  return `${failures} (${cleanLine(lastError ?? '')}), next at ${timeOf(nextAttemptAt)}; ${last}`;
}

async function tryWebhook(name: string, flags: Flags, processContext: ProcessContext): Promise<void> {
  const installation = await findInstallation(flags, processContext, ['webhooks', 'eventExports']);
  const receiver = findReceiver(name, installation);
  const { id, kind, reason } = await sendTestEvent(receiver);
  if (kind !== 'delivered')
    throw new Error(`${receiver.url} did not accept the event: ${cleanLine(reason ?? '')}`);
  processContext.write(`${name} accepted the event ${id}.\n`);
}

async function replayEvents(name: string, flags: Flags, processContext: ProcessContext): Promise<void> {
  const installation = await findInstallation(flags, processContext);
  findReceiver(name, installation);
  const since = flags.since ?? Date.now();
  const isKnown = await withStore(installation, ({ store }) => store.rewindWebhook(name, idPrefixOf(since)));
  if (!isKnown)
    throw new Error(`No server has started with the webhook ${name} yet: nothing to deliver again.`);
  processContext.write(`Events since ${timeOf(Math.floor(since / 1000))} are delivered to ${name} again.\n`);
}

function findReceiver(name: string, { settings }: Installation): ReturnType<typeof receiversOf>[number] {
  const receivers = receiversOf(settings);
  const found = receivers.find((one) => one.name === name);
  if (found !== undefined) return found;
  const names = receivers.map((one) => one.name).join(', ');
  throw new Error(
    `There is no webhook ${cleanLine(name)}: ${names === '' ? 'none is configured' : `there is ${names}`}`,
  );
}
