/** The mail of an audit event: whom it is for, what it says, and its link, which is created now. */
import type { MailedLinks } from '@portcullis/authorization-server';
import type { ApprovalStore, AuditEventRecord } from '@portcullis/authorization-server/store';
import { createLruCache } from '@portcullis/protocol';
import type { DeliveryAttempt, SendEvent } from '../webhooks/send.ts';
import { DELIVERED, type SendMail } from './mailer.ts';
import { type MailLanguage, type MailOptions, mailLanguages } from './options.ts';
import { type MailContent, type MailLook, renderMail } from './template.ts';

/** The events that mails are about. */
export const MAIL_EVENTS: readonly string[] = [
  'account.invitation_requested',
  'account.reset_requested',
  'account.sign_in_link_requested',
  'account.link_used',
  'login.succeeded',
  'consent.allowed',
  'personal_access_token.created',
  'passkey.added',
  'password.changed',
  'second_factor.*',
  'approval.requested',
];

interface SendDependencies {
  readonly options: Pick<MailOptions, 'notices' | 'language'>;
  readonly look: MailLook;
  /** The origin of the pages. */
  readonly origin: string;
  /** The links of the server that runs now. */
  readonly links: () => MailedLinks;
  readonly store: Pick<ApprovalStore, 'findApproval'>;
  readonly sendMail: SendMail;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

/** Milliseconds after which a mail would only surprise: the mail server was away, or mail was off, for so long. */
const STALE_AFTER = {
  invitation: 7 * 86_400_000,
  reset: 3_600_000,
  'sign-in-link': 300_000,
  notice: 86_400_000,
} as const;
const REQUESTS = {
  'account.invitation_requested': 'invitation',
  'account.reset_requested': 'reset',
  'account.sign_in_link_requested': 'sign-in-link',
} as const;
/** Milliseconds between two mails about approvals to a user: their page lists all that are pending. */
const APPROVAL_PAUSE = 300_000;
/** Milliseconds without notices to a mailbox that rejected one: the owner of a full one could hold up the mails of all others. */
const REJECTION_PAUSE = 300_000;
/** Events whose mail this process has sent: those beside one that failed are delivered again. */
const REMEMBERED = 1_000;

/** Creates the `send` of a delivery: renders and sends the mail of an event, if one is due. */
export function createMailSend(dependencies: SendDependencies): SendEvent {
  const { look, sendMail } = dependencies;
  const sent = createLruCache<true>({ entries: REMEMBERED });
  const approvalsSentAt = createLruCache<number>({ entries: REMEMBERED });
  const rejections = createLruCache<{ readonly eventId: string; readonly at: number }>({
    entries: REMEMBERED,
  });
  return async (event) => {
    if (sent.get(event.id) !== undefined) return DELIVERED;
    const found = await prepare(event, dependencies).catch(failure);
    if (found === null) return DELIVERED;
    if ('retryAfter' in found) return found;
    const isApproval = found.kind === 'approval';
    if (isApproval && dependencies.clock() - (approvalsSentAt.get(found.to) ?? 0) < APPROVAL_PAUSE)
      return DELIVERED;
    const rejection = rejections.get(found.to);
    const isPause =
      rejection !== undefined &&
      dependencies.clock() - rejection.at < REJECTION_PAUSE &&
      rejection.eventId !== event.id;
    if (isPause && !isOnRequest(found)) return DELIVERED;
    const attempt = await sendMail({ id: event.id, to: found.to, ...renderMail(found, look) });
    if (attempt.kind === 'rejected' && !isPause)
      rejections.set(found.to, { eventId: event.id, at: dependencies.clock() });
    if (attempt.kind !== 'delivered') return attempt;
    sent.set(event.id, true);
    if (isApproval) approvalsSentAt.set(found.to, dependencies.clock());
    return attempt;
  };
}

/** Its user or an administrator waits for it. */
function isOnRequest({ kind }: MailContent): boolean {
  return Object.values<string>(REQUESTS).includes(kind);
}

/** The store is unavailable. */
function failure(error: unknown): DeliveryAttempt {
  return { kind: 'failed', reason: error instanceof Error ? error.message : 'unavailable', retryAfter: 0 };
}

type AddressedMail = MailContent & { readonly to: string };

/** @returns `null`: no mail is due */
async function prepare(
  event: AuditEventRecord,
  dependencies: SendDependencies,
): Promise<AddressedMail | null> {
  const { links: current, clock, options } = dependencies;
  const { accountId, at, details } = event;
  const links = current();
  if (accountId === null || isStale(event, clock())) return null;
  const wanted = await describe(event, links, dependencies);
  const to = wanted === null ? null : await links.findAddress(accountId);
  if (wanted === null || to === null) return null;
  const known =
    details['language'] ?? (await links.findLanguage(accountId, String(details['sessionId'] ?? '')));
  const language = mailLanguages.find((tag) => tag === known) ?? options.language;
  const content = { ...wanted, language, to };
  if (content.link !== null) return { ...content, facts: { ...content.facts, time: timeIn(language, at) } };
  // The link is no part of the audit log. An account link replaces the one of an earlier attempt.
  const made = await (wanted.kind === 'invitation' || wanted.kind === 'reset'
    ? links.createAccountLink(accountId, wanted.kind)
    : links.createSignInLink(event));
  return made === null
    ? null
    : { ...content, link: made.link, facts: { until: timeIn(language, made.expiresAt * 1000) } };
}

function isStale({ type, at }: AuditEventRecord, now: number): boolean {
  return now - at > STALE_AFTER[REQUESTS[type as keyof typeof REQUESTS] ?? 'notice'];
}

/** @returns without a link: it is created when everything else is known */
async function describe(
  event: AuditEventRecord,
  links: MailedLinks,
  { options: { notices }, store, origin, clock }: SendDependencies,
): Promise<Omit<MailContent, 'language'> | null> {
  const { type, clientId, details } = event;
  const requested = REQUESTS[type as keyof typeof REQUESTS];
  if (requested !== undefined)
    return { kind: requested, link: null, facts: {}, isRequested: requested !== 'invitation' };
  const findApp = async () => (clientId === null ? null : await links.findAppName(clientId)) ?? '';
  if (type === 'approval.requested') {
    if (!notices.includes('approval')) return null;
    const id = String(details['approvalId']);
    const approval = await store.findApproval(id, Math.floor(clock() / 1000));
    // Those of a group find them on their page.
    if (approval === null || approval.outcome !== null || approval.approverGroups !== null) return null;
    const facts = { app: await findApp(), server: approval.server, tool: approval.tool };
    return { kind: 'approval', link: `${origin}/approvals/${id}`, facts, isRequested: false };
  }
  const notice = links.createNotice(event);
  if (notice === null || !notices.includes(notice.kind)) return null;
  const facts = { app: await findApp(), network: String(details['network'] ?? '') };
  return { ...notice, facts, isRequested: false };
}

/** @param at epoch milliseconds */
function timeIn(language: MailLanguage, at: number): string {
  const region = language === 'en' ? 'en-GB' : language;
  const time = new Intl.DateTimeFormat(region, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
  return `${time.format(at)} UTC`;
}
