/** Audit events about mails. */
import type { ComponentEvent } from '@portcullis/authorization-server';

/** The mail server rejected the mail of an event repeatedly: it is not sent again. */
export type MailEvent = ComponentEvent & {
  readonly type: 'mail.rejected';
  /** Of the event that the mail was about. */
  readonly eventId: string;
  /** The status of the response. */
  readonly reason: string;
};
