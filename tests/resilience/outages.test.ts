/** While the database is away each endpoint says 503 and when to come back; when it is back, all goes on without a restart. */
import { execFile } from 'node:child_process';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { startServer } from '../support/postgres.ts';
import { authorize, type Code, isActive, newRequest, redeem, refresh, signIn } from './browser.ts';
import { kinds } from './places.ts';
import { type Answer, type AtEnd, type Sent, type ServerProcess, send, startProcess } from './servers.ts';
import { TIMEOUT } from './sizes.ts';
import { ACCOUNT, CALLBACK, credentialsOf, ISSUER } from './world.ts';

const run = promisify(execFile);

/** An outage that a test brings about and ends. */
interface Outage {
  readonly name: string;
  /** What the store still does: a full disk can be read. */
  readonly stillReads: boolean;
  /** Seconds that the server waits for its store: short where it waits each time, and long where it has to find it again. */
  readonly patience: number;
  prepare(atEnd: AtEnd): Promise<{
    readonly location: string;
    begin(server: ServerProcess): Promise<void>;
    end(server: ServerProcess): Promise<void>;
  }>;
}

const stopped: Outage = {
  name: 'PostgreSQL is stopped',
  stillReads: false,
  patience: 5,
  async prepare(atEnd) {
    const postgres = await startServer();
    atEnd(postgres.stop);
    return { location: postgres.url, begin: postgres.halt, end: postgres.resume };
  },
};

async function makeFile(atEnd: AtEnd): Promise<string> {
  const [sqlite] = kinds;
  if (sqlite === undefined) throw new Error('no SQLite');
  return (await sqlite.make(atEnd)).location;
}

const locked: Outage = {
  name: 'another process holds the lock of the SQLite file',
  stillReads: true,
  patience: 0.3,
  async prepare(atEnd) {
    const location = await makeFile(atEnd);
    let holder: DatabaseSync | undefined;
    const release = async () => {
      holder?.close();
      holder = undefined;
    };
    atEnd(release);
    return {
      location,
      async begin() {
        holder = new DatabaseSync(location, { timeout: 5_000 });
        holder.exec('BEGIN IMMEDIATE');
      },
      end: release,
    };
  },
};

/** Its process may not make files longer than they are: writing ends as on a disk that is full. */
const full: Outage = {
  name: 'the disk of the SQLite file is full',
  stillReads: true,
  patience: 5,
  async prepare(atEnd) {
    const limit = ({ pid }: ServerProcess, bytes: string) =>
      run('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]).then(() => undefined);
    return {
      location: await makeFile(atEnd),
      begin: (server) => limit(server, '4096'),
      end: (server) => limit(server, 'unlimited'),
    };
  },
};

const hasLimits = await run('prlimit', ['--version']).then(
  () => true,
  () => false,
);

/** What is asked for: how it is answered while all is well, and whether that takes writing, reading or neither. */
interface Question {
  readonly title: string;
  readonly takes: 'writing' | 'reading' | 'neither';
  readonly well: number;
  ask(server: ServerProcess): Promise<Answer>;
}

/** One question for each endpoint, and more where it is answered in several ways. */
function questionsOf(supplies: Supplies): readonly Question[] {
  const { code, access, registration, home, login, consent } = supplies;
  const ask = (path: string, sent?: Sent) => (server: ServerProcess) => send(server, path, sent);
  const ours = credentialsOf('notes-server');
  const metadata = { redirect_uris: [CALLBACK] };
  const machine = { grant_type: 'client_credentials', ...ours };
  const other = newRequest(registration.id).path;
  const rows: readonly (readonly [string, Question['takes'], number, Question['ask']])[] = [
    ['GET metadata', 'neither', 200, ask('/.well-known/oauth-authorization-server')],
    ['GET /jwks', 'neither', 200, ask('/jwks')],
    ['GET /assets/*', 'neither', 200, ask(supplies.asset)],
    ['GET /authorize', 'writing', 303, ask(newRequest().path)],
    ['GET /authorize, signed in', 'writing', 303, ask(newRequest().path, { headers: home })],
    ['GET /authorize of a client that registered', 'writing', 303, ask(other)],
    ['GET /login', 'reading', 200, ask(login.path, { headers: login.headers })],
    ['POST /login', 'writing', 303, ask('/login', login)],
    ['GET /consent', 'reading', 200, ask(consent.path, { headers: consent.headers })],
    ['POST /consent', 'writing', 303, ask('/consent', consent)],
    ['GET /account', 'reading', 200, ask('/account', { headers: home })],
    ['POST /token, code', 'writing', 200, (server) => redeem(server, code)],
    ['POST /token, refresh', 'writing', 200, (server) => refresh(server, supplies.refresh)],
    ['POST /token, client credentials', 'neither', 200, ask('/token', { form: machine })],
    ['POST /introspect', 'reading', 200, ask('/introspect', { form: { token: access, ...ours } })],
    [
      'POST /revoke',
      'writing',
      200,
      ask('/revoke', { form: { token: supplies.doomed, ...credentialsOf('web') } }),
    ],
    ['POST /register', 'writing', 201, ask('/register', { json: metadata })],
    ['GET /register/*', 'reading', 200, ask(registration.path, { headers: registration.headers })],
  ];
  return rows.map(([title, takes, well, ask]) => ({ title, takes, well, ask }));
}

type Headers = Readonly<Record<string, string>>;

/** A page with a form, in a browser, and what the form sends. */
interface FilledIn {
  readonly path: string;
  readonly headers: Headers;
  readonly form: Readonly<Record<string, string>>;
}

interface Supplies {
  readonly code: Code;
  readonly access: string;
  readonly refresh: string;
  readonly doomed: string;
  readonly registration: { readonly id: string; readonly path: string; readonly headers: Headers };
  readonly asset: string;
  /** Headers of the signed-in user's browser. */
  readonly home: Headers;
  readonly login: FilledIn;
  readonly consent: FilledIn;
}

async function supply(server: ServerProcess): Promise<Supplies> {
  const signedIn = await signIn(server);
  const code = await authorize(server, signedIn);
  const mine = await redeem(server, await authorize(server, signedIn));
  const doomed = await redeem(server, await authorize(server, signedIn));
  const { body } = await send(server, '/register', { json: { redirect_uris: [CALLBACK] } });
  const page = await send(server, '/account', { headers: { cookie: signedIn.cookie } });
  return {
    code,
    access: String(mine.body['access_token']),
    refresh: String(mine.body['refresh_token']),
    doomed: String(doomed.body['refresh_token']),
    registration: {
      id: String(body['client_id']),
      path: new URL(String(body['registration_client_uri'])).pathname,
      headers: { authorization: `Bearer ${String(body['registration_access_token'])}` },
    },
    asset: /\/assets\/[\w-]+\.css/.exec(page.text)?.[0] ?? '',
    home: { cookie: signedIn.cookie },
    login: await fillIn(server, {}, { email: ACCOUNT.email, password: ACCOUNT.password }),
    consent: await fillIn(server, { cookie: signedIn.cookie }, { decision: 'allow' }),
  };
}

/** Begins an authorization request, and fills in the form of the first page. */
async function fillIn(server: ServerProcess, browser: Headers, answers: Headers): Promise<FilledIn> {
  const begun = await send(server, newRequest().path, { headers: browser });
  const path = begun.headers.get('location') ?? '';
  const set = begun.headers.getSetCookie().map((cookie) => cookie.split(';')[0]);
  const cookie = [browser['cookie'], ...set].filter((one) => one !== undefined).join('; ');
  const { text } = await send(server, path, { headers: { cookie } });
  const hidden = [...text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  const form = Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value]));
  return { path, headers: { cookie, origin: ISSUER }, form: { ...form, ...answers } };
}

describe.concurrent.each([stopped, locked, ...(hasLimits ? [full] : [])])('while $name', (outage) => {
  it(
    '[AS-REVOKE-64] T139: is answered with 503 and Retry-After, and everything works again afterwards',
    async ({ onTestFinished: atEnd }) => {
      const { location, begin, end } = await outage.prepare(atEnd);
      const server = await startProcess(location, atEnd, outage.patience);
      const supplies = await supply(server);
      const questions = questionsOf(supplies);

      for (let times = 0; times < 2; times += 1) {
        await begin(server);
        const told: Record<string, unknown> = {};
        for (const { title, ask } of questions) told[title] = describeAnswer(await ask(server));
        await end(server);
        expect(told).toEqual(
          Object.fromEntries(questions.map((question) => [question.title, expectedOf(question, outage)])),
        );
      }

      for (const { title, ask, well } of questions) {
        expect([title, (await ask(server)).status]).toEqual([title, well]);
      }
      expect(await isActive(server, supplies.access)).toBe(true);
      expect((await refresh(server, supplies.doomed)).status).toBe(400);
      expect(await server.stop()).toBe(0);
    },
    TIMEOUT,
  );
});

/** Where an answer leads by redirect, the error stands in the address. @see RFC 6749 §4.1.2.1 */
function describeAnswer({ status, headers, body }: Answer): object {
  const location = headers.get('location');
  const travelling = location === null ? null : new URL(location, ISSUER).searchParams.get('error');
  return { status, retryAfter: headers.get('retry-after'), error: body['error'] ?? travelling };
}

function expectedOf({ takes, well }: Question, { stillReads }: Outage): unknown {
  const isServed = takes === 'neither' || (takes === 'reading' && stillReads);
  if (isServed) return { status: well, retryAfter: null, error: null };
  return expect.toBeOneOf([
    { status: 503, retryAfter: '5', error: 'temporarily_unavailable' },
    // A page.
    { status: 503, retryAfter: '5', error: null },
    { status: 303, retryAfter: null, error: 'temporarily_unavailable' },
  ]);
}
