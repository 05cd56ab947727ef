/** `portcullis mail`: shows whether mail is sent, and sends a test. */
import type { Command } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import { cleanLine } from '../terminal/clean.ts';
import { deliveryState } from './delivery-state.ts';
import { findInstallation } from './installation.ts';
import { type Output, type StoreTask, storeCommands } from './store-commands.ts';
import { addSubcommand } from './subcommand.ts';
import { issuerOf } from './with-store.ts';

export function defineMail(program: Command, processContext: ProcessContext): void {
  const group = program.command('mail').summary('show whether mail is sent, and send a test');
  const define = storeCommands(group, processContext, (task: StoreTask<object>) => task);
  define('status', 'show when mail was sent, or why it is not', show).option('--json', 'as JSON');
  addSubcommand(group, 'test', 'send a test mail', 'What the mail server responds is the result.')
    .argument('<email>', 'address that it is sent to')
    .action((email: string, flags: object) => sendTest(email, flags, processContext));
}

async function show({ store, settings: { mail } }: StoreTask<object>): Promise<Output> {
  const { MAIL_PROGRESS } = await import('@portcullis/admin/mail');
  const all = await store.listWebhooks();
  const progress = all.find(({ name }) => name === MAIL_PROGRESS) ?? null;
  const { attempts = 0, lastError = null, deliveredAt = null, nextAttemptAt = 0 } = progress ?? {};
  const server = mail === null ? 'No mail is sent: the setting mail is not set' : cleanLine(mail.server);
  const state = deliveryState(progress, 'no event handled yet', 'last event handled');
  return {
    json: { server: mail?.server ?? null, attempts, lastError, deliveredAt, nextAttemptAt },
    text: `${server}\n${mail === null && progress === null ? '' : `${state}\n`}`,
  };
}

async function sendTest(email: string, flags: object, processContext: ProcessContext): Promise<void> {
  const { settings } = await findInstallation(flags, processContext, ['mail']);
  const { mail } = settings;
  if (mail === null) {
    const advice = 'config' in flags ? '' : '. If a configuration file sets it, name that: --config <file>';
    throw new Error(`No mail is sent: the setting mail is not set${advice}`);
  }
  const { sendTestMail } = await import('../server/test-mail.ts');
  const { kind, reason } = await sendTestMail(settings, issuerOf(settings), email);
  if (kind !== 'delivered')
    throw new Error(`${mail.server} did not accept the mail: ${cleanLine(reason ?? '')}`);
  processContext.write(`${mail.server} accepted the mail to ${cleanLine(email)}.\n`);
}
