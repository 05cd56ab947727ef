/** One mail to the mail server, by SMTP. TLS is required except on loopback, and certificates are verified. */
import { isLoopbackHost } from '@portcullis/protocol';
import { createTransport } from 'nodemailer';
import { DELIVERED, type DeliveryAttempt } from '../webhooks/send.ts';
import { isMailAddress, type MailOptions } from './options.ts';

/** A rendered mail. */
export interface Mail {
  /** Identifies it: the same at each attempt. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** Sends a mail. Never rejects. */
export type SendMail = (mail: Mail) => Promise<DeliveryAttempt>;

const CONNECT_TIMEOUT = 10_000;
/** Servers look into a mail before they accept it: one that is given up too early arrives twice. @see RFC 5321 §4.5.3.2.6 */
const SILENCE_TIMEOUT = 50_000;
/** Of one mail in all, below the lease of a delivery. */
const TIMEOUT = 60_000;

/** @param serverName display name of the sender */
export function createMailer(options: MailOptions, serverName: string): SendMail {
  const url = new URL(options.server);
  // Only this connection may be without TLS.
  const isLoopback = isLoopbackHost(url.hostname);
  const secure = url.protocol === 'smtps:';
  const { from, user, password: pass } = options;
  const isLocalhost = url.hostname === 'localhost';
  const transport = createTransport({
    // Nodemailer asks name servers for `localhost`, too. RFC 6761 §6.3: it is always a loopback address.
    host: isLocalhost ? '127.0.0.1' : url.hostname.replace(/^\[|\]$/g, ''),
    ...(isLocalhost && { servername: 'localhost' }),
    port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
    secure,
    requireTLS: !secure && !isLoopback,
    ignoreTLS: !secure && isLoopback,
    connectionTimeout: CONNECT_TIMEOUT,
    greetingTimeout: CONNECT_TIMEOUT,
    socketTimeout: SILENCE_TIMEOUT,
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(user !== undefined && pass !== undefined && { auth: { user, pass } }),
  });
  const domain = from.slice(from.lastIndexOf('@') + 1);
  return async ({ id, to, subject, ...body }) => {
    if (!isMailAddress(to))
      return { kind: 'rejected', reason: 'no address that mail is sent to', retryAfter: 0 };
    try {
      await withTimeout(
        transport.sendMail({
          from: { name: oneLine(serverName), address: from },
          to: { name: '', address: to },
          subject: oneLine(subject),
          ...body,
          messageId: `<${id}@${domain}>`,
          headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
        }),
      );
      return DELIVERED;
    } catch (error) {
      return describeFailure(error);
    }
  };
}

/** @see RFC 5322 §2.2: no CR or LF within a field */
function oneLine(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ').trim();
}

async function withTimeout(sending: Promise<unknown>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`not accepted within ${TIMEOUT / 1000} seconds`)), TIMEOUT);
  try {
    await Promise.race([sending, promise]);
  } finally {
    clearTimeout(timer);
    sending.catch(() => {});
  }
}

/** Characters of a reason. */
const MAX_REASON = 300;

/**
 * A mail that is rejected, or a server that fails. The reason of a rejection is its status alone: texts of servers differ each time.
 * @see RFC 5321 §4.2.1, RFC 3463 §3
 */
function describeFailure(error: unknown): DeliveryAttempt {
  type SmtpError = { readonly command?: string; readonly response?: string; readonly message?: string };
  const { command, response = '', message = 'not sent' } = error as SmtpError;
  const status = /^\d{3}(?:[ -]\d\.\d{1,3}\.\d{1,3})?/.exec(response)?.[0] ?? '';
  const isPermanent = status.startsWith('5') && (command === 'RCPT TO' || command === 'DATA');
  // Of an address or a mailbox; anything else that is temporary is a matter of the server.
  const isOfMailbox = /^4\d\d.4\.[12]\./.test(status) && command === 'RCPT TO';
  return isPermanent || isOfMailbox
    ? { kind: 'rejected', reason: `status ${status.replace('-', ' ')}`, retryAfter: 0 }
    : { kind: 'failed', reason: oneLine(message).slice(0, MAX_REASON), retryAfter: 0 };
}
