/** `portcullis mail`: shows whether mail is sent, and sends a test. */
import type { WebhookProgress } from '@portcullis/authorization-server/store';
import type { Command } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import type { SettingName } from '../settings/schema.ts';
import { cleanJson, cleanLine } from '../terminal/clean.ts';
import { timeOf } from '../terminal/times.ts';
import { findInstallation } from './installation.ts';
import { ADMIN_SETTINGS, addSubcommand } from './subcommand.ts';
import { issuerOf, withStore } from './with-store.ts';

type Flags = Readonly<Partial<Record<SettingName, string>>> & { readonly json?: true };

export function defineMail(program: Command, processContext: ProcessContext): void {
  const group = program.command('mail').summary('show whether mail is sent, and send a test');
  const status = addSubcommand(group, 'status', 'show when mail was sent, or why it is not');
  status.option('--json', 'as JSON').action(() => show(status.opts(), processContext));
  const test = addSubcommand(group, 'test', 'send a test mail', ADMIN_SETTINGS, TEST);
  test
    .argument('<email>', 'address that it is sent to')
    .action((email: string) => sendTest(email, test.opts(), processContext));
}

const TEST = 'What the mail server responds is the result.';

async function show(flags: Flags, processContext: ProcessContext): Promise<void> {
  const installation = await findInstallation(flags, processContext);
  const { MAIL_PROGRESS } = await import('@portcullis/admin/mail');
  const all = await withStore(installation, ({ store }) => store.listWebhooks());
  const progress = all.find(({ name }) => name === MAIL_PROGRESS) ?? null;
  const { mail } = installation.settings;
  const state = stateOf(progress);
  if (flags.json) {
    const { attempts = 0, lastError = null, deliveredAt = null, nextAttemptAt = 0 } = progress ?? {};
    const shown = { server: mail?.server ?? null, attempts, lastError, deliveredAt, nextAttemptAt };
    processContext.write(`${cleanJson(shown)}\n`);
    return;
  }
  const server = mail === null ? 'No mail is sent: the setting mail is not set' : cleanLine(mail.server);
  processContext.write(`${server}\n${mail === null && progress === null ? '' : `${state}\n`}`);
}

function stateOf(progress: WebhookProgress | null): string {
  if (progress === null) return 'no server has started with it yet';
  const { lastError, attempts, nextAttemptAt, deliveredAt } = progress;
  const last = deliveredAt === null ? 'no event handled yet' : `last event handled ${timeOf(deliveredAt)}`;
  if (attempts === 0) return last;
  const failures = attempts === 1 ? 'the last attempt failed' : `the last ${attempts} attempts failed`;
  return `${failures} (${cleanLine(lastError ?? '')}), next at ${timeOf(nextAttemptAt)}; ${last}`;
}

async function sendTest(email: string, flags: Flags, processContext: ProcessContext): Promise<void> {
  const installation = await findInstallation(flags, processContext, ['mail']);
  const { mail } = installation.settings;
  if (mail === null) throw new Error('No mail is sent: the setting mail is not set');
  const { sendTestMail } = await import('../server/test-mail.ts');
  const { kind, reason } = await sendTestMail(installation.settings, issuerOf(installation.settings), email);
  if (kind !== 'delivered')
    throw new Error(`${mail.server} did not accept the mail: ${cleanLine(reason ?? '')}`);
  processContext.write(`${mail.server} accepted the mail to ${cleanLine(email)}.\n`);
}
