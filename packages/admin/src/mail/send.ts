/** The mails of an audit event: whom they are for, what they say, and their links, which are created now. */
import type { MailedLinks } from '@portcullis/authorization-server';
import type { ApprovalStore, AuditEventRecord } from '@portcullis/authorization-server/store';
import { createLruCache, SKEW_TOLERANCE } from '@portcullis/protocol';
import { DELIVERED, type DeliveryAttempt, failedBy, type SendEvent } from '../webhooks/send.ts';
import type { SendMail } from './mailer.ts';
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

type PreparationDependencies = SendDependencies & Pick<MailedLinks, 'findApprovers'>;

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
/** Milliseconds for which the members of groups are known: to find them, all profiles are read. */
const APPROVERS_KNOWN_FOR = 60_000;
/** Milliseconds without notices to a mailbox that rejected one: the owner of a full one could hold up the mails of all others. */
const REJECTION_PAUSE = 300_000;
/** Events whose mail this process has sent: those beside one that failed are delivered again. */
const REMEMBERED = 1_000;
/** Groups of approvers whose members are known. */
const REMEMBERED_GROUPS = 20;

/** Creates the `send` of a delivery: renders and sends the mail of an event, if one is due. */
export function createMailSend(dependencies: SendDependencies): SendEvent {
  const { look, sendMail } = dependencies;
  const findApprovers = rememberApprovers(dependencies);
  const sent = createLruCache<true>({ entries: REMEMBERED });
  const approvalsSentAt = createLruCache<number>({ entries: REMEMBERED });
  const rejections = createLruCache<{ readonly eventId: string; readonly at: number }>({
    entries: REMEMBERED,
  });
  return async (event) => {
    if (sent.get(event.id) !== undefined) return DELIVERED;
    const mails = await prepare(event, { ...dependencies, findApprovers }).catch((error: unknown) =>
      failedBy(error, 'unavailable'),
    );
    if ('retryAfter' in mails) return mails;
    let outcome = DELIVERED;
    for (const mail of mails) {
      const attempt = await sendOne(event, mail);
      if (attempt.kind === 'failed') return attempt;
      // A mailbox that rejects a mail holds up none of the other recipients.
      if (attempt.kind === 'rejected') outcome = attempt;
    }
    if (outcome.kind === 'delivered') sent.set(event.id, true);
    return outcome;
  };

  async function sendOne(event: AuditEventRecord, found: AddressedMail): Promise<DeliveryAttempt> {
    if (sent.get(found.id) !== undefined) return DELIVERED;
    const isApproval = found.kind === 'approval' || found.kind === 'group-approval';
    if (isApproval && isWithin(APPROVAL_PAUSE, approvalsSentAt.get(found.to) ?? 0, dependencies.clock()))
      return DELIVERED;
    const rejection = rejections.get(found.to);
    const isPause =
      rejection !== undefined &&
      isWithin(REJECTION_PAUSE, rejection.at, dependencies.clock()) &&
      rejection.eventId !== event.id;
    if (isPause && !isOnRequest(found)) return DELIVERED;
    const attempt = await sendMail({ id: found.id, to: found.to, ...renderMail(found, look) });
    if (attempt.kind === 'rejected' && !isPause)
      rejections.set(found.to, { eventId: event.id, at: dependencies.clock() });
    if (attempt.kind !== 'delivered') return attempt;
    sent.set(found.id, true);
    if (isApproval) approvalsSentAt.set(found.to, dependencies.clock());
    return attempt;
  }
}

/** Whether the pause after a time lasts on; a time of a clock that was ahead has no pause. Milliseconds. */
function isWithin(pause: number, at: number, now: number): boolean {
  return now - at < pause && at <= now + SKEW_TOLERANCE * 1000;
}

function rememberApprovers({
  links,
  clock,
}: Pick<SendDependencies, 'links' | 'clock'>): MailedLinks['findApprovers'] {
  const known = createLruCache<{ readonly ids: readonly string[]; readonly at: number }>({
    entries: REMEMBERED_GROUPS,
  });
  return async (groups) => {
    const key = JSON.stringify(groups);
    const found = known.get(key);
    if (found !== undefined && isWithin(APPROVERS_KNOWN_FOR, found.at, clock())) return found.ids;
    const ids = await links().findApprovers(groups);
    known.set(key, { ids, at: clock() });
    return ids;
  };
}

/** Its user or an administrator waits for it. */
function isOnRequest({ kind }: MailContent): boolean {
  return Object.values<string>(REQUESTS).includes(kind);
}

/** @member id the same at each attempt */
type AddressedMail = MailContent & { readonly id: string; readonly to: string };

/** What a mail says, without its link's secrets: those are created when everything else is known. */
type Description = Omit<MailContent, 'language'>;

/** Nothing when no mail is due. */
async function prepare(
  event: AuditEventRecord,
  dependencies: PreparationDependencies,
): Promise<readonly AddressedMail[]> {
  const { accountId } = event;
  if (isStale(event, dependencies.clock())) return [];
  if (event.type === 'approval.requested') return prepareApproval(event, dependencies);
  if (accountId === null) return [];
  const wanted = await describe(event, dependencies);
  const mail = wanted && (await address(event, accountId, wanted, dependencies));
  return mail === null ? [] : [mail];
}

/** @param id the account of the recipient @returns `null`: it has no address, or is disabled or gone */
async function address(
  event: AuditEventRecord,
  id: string,
  wanted: Description,
  { links: current, options }: PreparationDependencies,
): Promise<AddressedMail | null> {
  const { at, details } = event;
  const links = current();
  const to = await links.findAddress(id);
  if (to === null) return null;
  const known = details['language'] ?? (await links.findLanguage(id, String(details['sessionId'] ?? '')));
  const language = mailLanguages.find((tag) => tag === known) ?? options.language;
  const content = { ...wanted, language, to, id: id === event.accountId ? event.id : `${event.id}.${id}` };
  if (content.link !== null) return { ...content, facts: { ...content.facts, time: timeIn(language, at) } };
  // The link is no part of the audit log. An account link replaces the one of an earlier attempt.
  const made = await (wanted.kind === 'invitation' || wanted.kind === 'reset'
    ? links.createAccountLink(id, wanted.kind)
    : links.createSignInLink(event));
  return made === null
    ? null
    : { ...content, link: made.link, facts: { until: timeIn(language, made.expiresAt * 1000) } };
}

/** For the user of the call, or for all who decide about it by a group. */
async function prepareApproval(
  event: AuditEventRecord,
  dependencies: PreparationDependencies,
): Promise<readonly AddressedMail[]> {
  const { options, store, origin, clock, links, findApprovers } = dependencies;
  if (!options.notices.includes('approval')) return [];
  const { accountId } = event;
  const approvalId = String(event.details['approvalId']);
  const approval = await store.findApproval(approvalId, Math.floor(clock() / 1000));
  if (approval === null || approval.outcome !== null) return [];
  const { server, tool, approverGroups } = approval;
  const link = `${origin}/approvals/${approvalId}`;
  const facts = { app: await findApp(event, links()), server, tool };
  const own = { kind: 'approval', link, facts } as const;
  const user = accountId === null ? null : await links().findAddress(accountId);
  const ofGroup = { ...own, kind: 'group-approval', facts: { ...facts, user: user ?? '' } } as const;
  const recipients = approverGroups === null ? [accountId] : await findApprovers(approverGroups);
  const mails: AddressedMail[] = [];
  for (const id of recipients) {
    const wanted = approverGroups === null ? own : ofGroup;
    const mail = id === null ? null : await address(event, id, wanted, dependencies);
    if (mail !== null) mails.push(mail);
  }
  return mails;
}

async function findApp({ clientId }: AuditEventRecord, links: MailedLinks): Promise<string> {
  return (clientId === null ? null : await links.findAppName(clientId)) ?? '';
}

function isStale({ type, at }: AuditEventRecord, now: number): boolean {
  return now - at > STALE_AFTER[REQUESTS[type as keyof typeof REQUESTS] ?? 'notice'];
}

/** Of a mail to the account of its event. @returns without a link: it is created when everything else is known */
async function describe(
  event: AuditEventRecord,
  { options: { notices }, links }: PreparationDependencies,
): Promise<Description | null> {
  const requested = REQUESTS[event.type as keyof typeof REQUESTS];
  if (requested !== undefined) return { kind: requested, link: null, facts: {} };
  const notice = links().createNotice(event);
  if (notice === null || !notices.includes(notice.kind)) return null;
  const facts = {
    app: await findApp(event, links()),
    // In every language.
    browser: String(event.details['browser'] ?? '').replace(' on ', ', '),
    network: String(event.details['network'] ?? ''),
  };
  return { ...notice, facts };
}

/** @param at epoch milliseconds */
function timeIn(language: MailLanguage, at: number): string {
  const region = language === 'en' ? 'en-GB' : language;
  const time = new Intl.DateTimeFormat(region, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
  return `${time.format(at)} UTC`;
}
