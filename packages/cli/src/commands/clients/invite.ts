/** `portcullis clients invite`: an initial access token, by which one client may register itself. */
import { createInvitations } from '@portcullis/authorization-server';
import { type Command, InvalidArgumentError } from 'commander';
import { administer } from '../../administering.ts';
import { findExistingKey } from '../../sealing-key.ts';
import { resolveSettings } from '../../settings/resolve.ts';
import type { Surroundings } from '../../surroundings.ts';
import { timeOf } from '../../terminal/times.ts';
import { addVerb } from '../verb.ts';
import type { Flags } from './task.ts';

/** Needs the sealing key, and no database but for the log. */
export function defineInvite(group: Command, surroundings: Surroundings): void {
  const summary = 'make an initial access token, by which one client may register itself';
  addVerb(group, 'invite', summary, ['config', 'database', 'key', 'keyFile'])
    .option('--days <number>', 'for so many days', readDays, 7)
    .action(async (flags: Flags & { readonly days: number }) => {
      const { environment, folder, write } = surroundings;
      const settings = await resolveSettings({ flags, environment, folder });
      const sealingKey = await findExistingKey(settings, folder);
      const expiresAt = await administer(settings, folder, 'refuse', async ({ events, clock }) => {
        events({ type: 'client.invited' });
        return clock() + flags.days * 86_400;
      });
      const token = createInvitations({ sealingKey }).make(expiresAt);
      write(
        `One client may register with this as a bearer token, once, until ${timeOf(expiresAt)}.\nIt is asked for where registration.invitedOnly is true.\n${token}\n`,
      );
    });
}

function readDays(text: string): number {
  if (/^\d{1,3}$/.test(text) && Number(text) >= 1) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from 1 to 999.');
}
