/** Audit events about mails, and the name of their delivery. */
import type { ComponentEvent } from '@portcullis/authorization-server';

/** The name of the progress of mail among those of webhooks: no webhook has such a name. */
export const MAIL_PROGRESS = '.mail';

/** The mail server rejected the mail of an event repeatedly: it is not sent again. */
export type MailEvent = ComponentEvent & {
  readonly type: 'mail.rejected';
  /** Of the event that the mail was about. */
  readonly eventId: string;
  /** The status of the response. */
  readonly reason: string;
};
