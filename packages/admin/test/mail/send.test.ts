/** Mails about audit events: from the log of a real server to a real mail server, repeated after failures, and once by two processes. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAuthorizationServer } from '@portcullis/authorization-server';
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import type { FullStore } from '@portcullis/store';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type MailServer, startMailServer } from '../../../../tests/support/mail-server.ts';
import { type Postgres, startPostgres } from '../../../../tests/support/postgres.ts';
import { openTestStore } from '../../../../tests/support/test-store.ts';
import { createMailer } from '../../src/mail/mailer.ts';
import { mailSchema } from '../../src/mail/options.ts';
import { createMailSend, MAIL_EVENTS } from '../../src/mail/send.ts';
import { MAIL_PROGRESS } from '../../src/operations/component-events.ts';
import { createDelivery, type Delivery, type DeliveryReport } from '../../src/webhooks/delivery.ts';

const ISSUER = 'https://as.example';
const NOTES = 'https://mcp.example/notes';

/** A process: a server with its store and its delivery of mail. */
interface Process {
  readonly server: Awaited<ReturnType<typeof createAuthorizationServer>>;
  readonly store: FullStore;
  readonly reports: DeliveryReport[];
  readonly deliver: Delivery['deliver'];
}

interface Scene {
  readonly mailServer: MailServer;
  /** Milliseconds by which the clock of deliveries is ahead: by default, all events are settled. */
  ahead: number;
  startProcess(): Promise<Process>;
}

async function setScene(location: string, options: object = {}): Promise<Scene> {
  const mailServer = await startMailServer();
  onTestFinished(() => mailServer.close());
  const settings = mailSchema().parse({ server: mailServer.url, from: 'gate@example.com', ...options });
  const scene: Scene = {
    mailServer,
    ahead: 10_000,
    async startProcess() {
      const store = await openTestStore(location);
      const server = await createAuthorizationServer({
        issuer: ISSUER,
        store,
        masterKey: new Uint8Array(32).fill(7),
        resources: [{ resource: NOTES, name: 'Notes', scopes: { read: 'Read' } }],
        sendsMail: true,
      });
      onTestFinished(async () => {
        await server.close();
        await store.close();
      });
      const links = server.mailedLinks;
      if (links === null) throw new Error('no mail');
      const reports: DeliveryReport[] = [];
      const clock = () => Date.now() + scene.ahead;
      const readClock = async () => ((await store.readClock()) === null ? null : clock() / 1000);
      const delivery = createDelivery({
        webhook: { name: MAIL_PROGRESS, types: MAIL_EVENTS },
        store: { ...store, readClock },
        clock,
        send: createMailSend({
          options: settings,
          look: { serverName: 'Gate', accent: '#1c4fc4' },
          origin: ISSUER,
          links: () => links,
          store,
          sendMail: createMailer(settings, 'Gate'),
          clock,
        }),
        report: (report) => reports.push(report),
      });
      return { server, store, reports, deliver: delivery.deliver };
    },
  };
  return scene;
}

/** A process whose delivery has begun, and a local account. */
async function setOneProcess(options: object = {}) {
  const scene = await setScene(':memory:', options);
  const one = await scene.startProcess();
  const before = scene.ahead;
  scene.ahead = 0;
  await one.deliver();
  scene.ahead = before;
  return { scene, ...one, id: await addAccount(one, 'ada@example.org') };
}

async function addAccount({ server }: Pick<Process, 'server'>, email: string): Promise<string> {
  const made = await server.accounts.add(email);
  if ('refused' in made) throw new Error(made.refused);
  return made.accountId;
}

/** Sorts after the events of the server in the same millisecond. */
let serial = 0;

/** Appends events to the log, as they happen now. */
async function append(
  store: FullStore,
  ...events: readonly (Partial<AuditEventRecord> & { readonly type: string })[]
) {
  const none = {
    clientId: null,
    accountId: null,
    grantId: null,
    resource: null,
    transactionId: null,
    details: {},
  };
  await store.appendEvents(
    events.map((event) => {
      const at = event.at ?? Date.now();
      serial += 1;
      const id = `${at.toString(36).padStart(9, '0')}-z${String(serial).padStart(6, '0')}-test`;
      return { ...none, id, at, expiresAt: Math.floor(at / 1000) + 1e6, ...event };
    }),
  );
}

const resetOf = (accountId: string, language = 'en') => ({
  type: 'account.reset_requested',
  accountId,
  details: { language },
});

describe('a mail about an event', () => {
  it('has a link that was made when it was sent, which the log does not contain', async () => {
    const { scene, server, store, deliver, reports, id } = await setOneProcess();
    await append(store, resetOf(id, 'de'));
    await deliver();
    const [mail] = scene.mailServer.mails;
    expect(mail).toMatchObject({ recipients: ['ada@example.org'], subject: 'Neues Passwort wählen · Gate' });
    const link = await scene.mailServer.waitForLink('/reset');
    expect((await server.handle(new Request(link))).status).toBe(200);
    const log = JSON.stringify(await store.listEvents('', 100));
    expect(log).not.toContain(new URL(link).searchParams.get('token'));
    expect(reports).toMatchObject([{ outcome: 'delivered' }]);
  });

  it('is not sent to an account that was disabled or removed meanwhile', async () => {
    const { scene, server, store, deliver, id } = await setOneProcess();
    const gone = await addAccount({ server }, 'bob@example.org');
    await append(store, resetOf(id), resetOf(gone));
    await server.accounts.disable('ada@example.org');
    await server.accounts.remove('bob@example.org');
    await deliver();
    expect(scene.mailServer.mails).toEqual([]);
    await server.accounts.enable('ada@example.org');
    await append(store, resetOf(id));
    await deliver();
    expect(scene.mailServer.mails).toHaveLength(1);
  });

  it('is not sent when the event is too old to expect it', async () => {
    const { scene, store, deliver, reports, id } = await setOneProcess();
    await append(store, resetOf(id), { type: 'password.changed', accountId: id });
    scene.ahead = 3_600_001 + 10_000;
    await deliver();
    expect(scene.mailServer.mails.map(({ subject }) => subject)).toEqual([
      'Your way of signing in was changed · Gate',
    ]);
    expect(reports.map(({ outcome }) => outcome)).toEqual(['delivered', 'delivered']);
  });

  it('names the app of a new connection in its body only, and is sent if the notice is wanted', async () => {
    for (const notices of [['connection'], ['sign-in']]) {
      const { scene, server, store, deliver, id } = await setOneProcess({ notices });
      const registered = await server.clients.add({
        client_name: '<b>Bank</b> of England',
        redirect_uris: ['https://app.example/cb'],
      });
      const clientId = String(registered['client_id']);
      await append(store, { type: 'consent.allowed', accountId: id, clientId, grantId: 'grant_1' });
      await deliver();
      const [mail] = scene.mailServer.mails;
      expect(scene.mailServer.mails).toHaveLength(notices.includes('connection') ? 1 : 0);
      if (mail === undefined) continue;
      expect(mail.subject).toBe('A new app is connected · Gate');
      expect(mail.html).toContain('&lt;b&gt;Bank&lt;/b&gt; of England');
      expect(mail.text).toContain(`${ISSUER}/notice?token=`);
    }
  });

  it('names browser and network of a sign-in, as far as they are known', async () => {
    const { scene, store, deliver, id } = await setOneProcess();
    const signIn = { type: 'login.succeeded', accountId: id } as const;
    const details = { sessionId: 'one', network: '192.0.2.0/24' };
    await append(store, { ...signIn, details: { ...details, browser: 'Chrome on Linux' } });
    await append(store, { ...signIn, details });
    await deliver();
    expect(
      scene.mailServer.mails.map(({ text }) => /(?:^Browser: .*\n)?^Network: .*/m.exec(text ?? '')?.[0]),
    ).toEqual(['Browser: Chrome, Linux\nNetwork: 192.0.2.0/24', 'Network: 192.0.2.0/24']);
  });

  it('asks the user of a call for approval, at most once in five minutes', async () => {
    const { scene, store, deliver, id } = await setOneProcess();
    for (const name of ['b', 'c']) await requestApproval(store, name, id, null);
    await deliver();
    expect(scene.mailServer.mails.map(({ text }) => text)).toEqual([
      expect.stringContaining(`${ISSUER}/approvals/b`),
    ]);
    expect(scene.mailServer.mails[0]?.text).toContain('Tool: delete_file');
    scene.ahead += 300_000;
    await append(store, { type: 'approval.requested', accountId: id, details: { approvalId: 'c' } });
    await deliver();
    expect(scene.mailServer.mails).toHaveLength(2);
    // The clock was ahead.
    scene.ahead -= 300_000;
    await append(store, { type: 'approval.requested', accountId: id, details: { approvalId: 'c' } });
    await deliver();
    expect(scene.mailServer.mails).toHaveLength(3);
  });

  it('asks those for approval who are in a group that decides, each once in five minutes, and no others', async () => {
    const { scene, server, store, deliver, id } = await setOneProcess();
    const join = async (email: string, ...groups: readonly string[]) => {
      const accountId = await addAccount({ server }, email);
      await store.saveProfile(accountId, { email: null, name: null, groups });
      return accountId;
    };
    await join('grace@example.org', 'admins');
    await join('joan@example.org', 'others', 'owners');
    await join('eve@example.org', 'others');
    await store.disableAccount(await join('bob@example.org', 'admins'), 0);
    await requestApproval(store, 'a', id, ['admins', 'owners']);
    await deliver();
    const recipients = () => scene.mailServer.mails.flatMap((mail) => mail.recipients).toSorted();
    expect(recipients()).toEqual(['grace@example.org', 'joan@example.org']);
    for (const { text } of scene.mailServer.mails) {
      expect(text).toContain(`${ISSUER}/approvals/a`);
      expect(text).toContain('User: ada@example.org');
      expect(text).toContain('a group that you are in decides');
    }
    expect(new Set(scene.mailServer.mails.map(({ messageId }) => messageId)).size).toBe(2);
    // A client that acts for itself has no user.
    await requestApproval(store, 'b', null, ['owners', 'leads']);
    await join('hedy@example.org', 'leads');
    await deliver();
    expect(recipients()).toEqual(['grace@example.org', 'hedy@example.org', 'joan@example.org']);
  });
});

/** An approval that waits for a decision, and its event. @param accountId `null`: the client acts for itself */
async function requestApproval(
  store: FullStore,
  approvalId: string,
  accountId: string | null,
  approverGroups: readonly string[] | null,
): Promise<void> {
  const call = { clientId: 'app', grantId: null, server: '/files', tool: 'delete_file' };
  const bound = { backend: null, arguments: '{}', argumentsHash: approvalId, definition: null };
  const rule = { rule: 'r', approverGroups, reusableFor: null };
  const limits = { bySubject: 10, byServer: 10 };
  const times = { createdAt: 0, expiresAt: 4_000_000_000 };
  await store.requestApproval(
    { ...{ id: approvalId, subject: accountId ?? 'app' }, ...call, ...bound, ...rule, ...times },
    limits,
  );
  await append(store, { type: 'approval.requested', accountId, clientId: 'app', details: { approvalId } });
}

describe('a mail that cannot be sent', () => {
  it('is given up after three attempts if its mailbox rejects it, and others are sent once', async () => {
    const { scene, server, store, deliver, reports, id } = await setOneProcess();
    const others = [
      await addAccount({ server }, 'bob@example.org'),
      await addAccount({ server }, 'eve@example.org'),
    ];
    scene.mailServer.behavior.recipient = (address) =>
      address.startsWith('ada') ? [550, '5.1.1 unknown'] : null;
    await append(store, ...[id, ...others].map((one) => resetOf(one)));
    for (let attempt = 0; attempt < 3; attempt++) {
      await deliver();
      scene.ahead += 60_000;
    }
    await deliver();
    expect(scene.mailServer.mails.map(({ recipients }) => recipients[0]).toSorted()).toEqual([
      'bob@example.org',
      'eve@example.org',
    ]);
    expect(reports.filter(({ outcome }) => outcome === 'rejected')).toMatchObject([
      { event: { accountId: id }, reason: 'status 550 5.1.1' },
    ]);
    expect(await store.listWebhooks()).toMatchObject([{ name: MAIL_PROGRESS, attempts: 0, lastError: null }]);
  });

  it('is given up once for five minutes by a mailbox that rejects it, however many notices others wait behind', async () => {
    const { scene, store, deliver, reports, id } = await setOneProcess();
    const notice = { type: 'password.changed', accountId: id };
    const subjects = () => scene.mailServer.mails.map(({ subject }) => subject);
    scene.mailServer.behavior.recipient = () => [452, '4.2.2 full'];
    await append(store, ...Array.from({ length: 5 }, () => notice));
    for (let attempt = 0; attempt < 3; attempt++) {
      await deliver();
      scene.ahead += 60_000;
    }
    expect(reports.filter(({ outcome }) => outcome === 'rejected')).toHaveLength(1);
    expect(await store.listWebhooks()).toMatchObject([{ attempts: 0, lastError: null }]);
    // A mail that its user waits for is sent all the same, and notices after the pause.
    scene.mailServer.behavior.recipient = () => null;
    await append(store, notice, resetOf(id));
    await deliver();
    expect(subjects()).toEqual(['Choose a new password · Gate']);
    scene.ahead += 300_000;
    await append(store, notice);
    await deliver();
    expect(subjects().slice(1)).toEqual(['Your way of signing in was changed · Gate']);
  });

  it('is given up for an approver whose mailbox rejects it, and reaches the other approvers once', async () => {
    const { scene, server, store, deliver, reports, id } = await setOneProcess();
    for (const email of ['grace@example.org', 'joan@example.org']) {
      const accountId = await addAccount({ server }, email);
      await store.saveProfile(accountId, { email: null, name: null, groups: ['admins'] });
    }
    scene.mailServer.behavior.recipient = (address) =>
      address.startsWith('grace') ? [550, '5.1.1 unknown'] : null;
    await requestApproval(store, 'a', id, ['admins']);
    for (let attempt = 0; attempt < 3; attempt++) {
      await deliver();
      scene.ahead += 60_000;
    }
    await deliver();
    expect(scene.mailServer.mails.map(({ recipients }) => recipients)).toEqual([['joan@example.org']]);
    expect(reports.map(({ outcome }) => outcome)).toEqual(['failed', 'failed', 'rejected']);
  });

  it('is given up although the mailbox of another rejects it in another way', async () => {
    const { scene, server, store, deliver, reports, id } = await setOneProcess();
    const other = await addAccount({ server }, 'bob@example.org');
    scene.mailServer.behavior.recipient = (address) =>
      address.startsWith('ada') ? [550, '5.1.1 unknown'] : [452, '4.2.2 full'];
    await append(store, resetOf(id), resetOf(other));
    for (let attempt = 0; attempt < 8; attempt++) {
      await deliver();
      scene.ahead += 61_000;
    }
    expect(
      reports.filter(({ outcome }) => outcome === 'rejected').map(({ event }) => event.accountId),
    ).toEqual([id, other]);
    scene.mailServer.behavior.recipient = () => null;
    await append(store, resetOf(id));
    await deliver();
    expect(scene.mailServer.mails).toHaveLength(1);
  });

  it('is sent again until a full mail server has space, with a new link each time', async () => {
    const { scene, store, deliver, reports, id } = await setOneProcess();
    scene.mailServer.behavior.data = () => [452, '4.3.1 full'];
    await append(store, resetOf(id));
    for (let attempt = 0; attempt < 5; attempt++) {
      await deliver();
      scene.ahead += 601_000;
    }
    expect(scene.mailServer.mails).toEqual([]);
    const [progress] = await store.listWebhooks();
    expect(progress?.attempts).toBeGreaterThanOrEqual(4);
    expect(progress?.lastError).toContain('452');
    scene.mailServer.behavior.data = () => null;
    scene.ahead = 10_000;
    await store.rewindWebhook(MAIL_PROGRESS, (Date.now() - 60_000).toString(36).padStart(9, '0'));
    await deliver();
    expect(scene.mailServer.mails).toHaveLength(1);
    expect(reports.map(({ outcome }) => outcome)).toEqual([...Array(5).fill('failed'), 'delivered']);
  });

  it('waits while the database is away', async () => {
    const { scene, store, deliver, reports, id } = await setOneProcess();
    await append(store, resetOf(id));
    const { findAccount } = store;
    Object.assign(store, { findAccount: () => Promise.reject(new Error('the database is away')) });
    await deliver();
    expect([scene.mailServer.mails, reports]).toMatchObject([[], [{ outcome: 'failed' }]]);
    Object.assign(store, { findAccount });
    scene.ahead += 60_000;
    await deliver();
    expect(scene.mailServer.mails).toHaveLength(1);
  });
});

describe('two processes', () => {
  let postgres: Postgres;
  let folder: string;
  beforeAll(async () => {
    postgres = await startPostgres();
    folder = await mkdtemp(join(tmpdir(), 'portcullis-mail-'));
  });
  afterAll(async () => {
    await postgres.stop();
    await rm(folder, { recursive: true });
  });

  it.each([
    ['a SQLite file', async () => join(folder, 'mail.db')],
    ['PostgreSQL', () => postgres.createDatabase()],
  ])('send each mail once, on %s', async (_name, locate) => {
    const scene = await setScene(await locate());
    const one = await scene.startProcess();
    const other = await scene.startProcess();
    scene.ahead = 0;
    await one.deliver();
    const id = await addAccount(one, 'ada@example.org');
    await append(one.store, ...Array.from({ length: 5 }, () => resetOf(id)));
    scene.ahead = 20_000;
    for (let turn = 0; turn < 3; turn++) await Promise.all([one.deliver(), other.deliver()]);
    expect(scene.mailServer.mails).toHaveLength(5);
    expect(new Set(scene.mailServer.mails.map(({ messageId }) => messageId)).size).toBe(5);
  });
});
