/** The look of mails, and a mail that tests the mail server. */
import { createMailer, type MailLook, renderMail } from '@portcullis/admin/mail';
import { idPrefixOf } from '@portcullis/admin/operations';
import type { Settings } from '../settings/schema.ts';

/** @param issuer of the pages, whose host is the default name */
export function lookOf({ name, brand }: Pick<Settings, 'name' | 'brand'>, issuer: string): MailLook {
  return { serverName: name ?? new URL(issuer).host, accent: brand.accent?.light ?? '#1c4fc4' };
}

/** Sends a test mail. @throws Error if no mail is sent */
export async function sendTestMail(
  settings: Pick<Settings, 'mail' | 'name' | 'brand'>,
  issuer: string,
  to: string,
): Promise<Awaited<ReturnType<ReturnType<typeof createMailer>>>> {
  const { mail } = settings;
  if (mail === null) throw new Error('No mail is sent: the setting mail is not set');
  const look = lookOf(settings, issuer);
  const { language } = mail;
  const content = { kind: 'test', language, link: null, facts: {} } as const;
  const id = `${idPrefixOf(Date.now())}-test`;
  return createMailer(mail, look.serverName)({ id, to, ...renderMail(content, look) });
}
