/** Chapters of extensions: servers that call each other, software statements, and operations that demand a recent sign-in. */
import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_AGE, TOO_OLD } from '../support/recent-notes.ts';
import type { Scene } from './chapters.ts';
import {
  agent,
  authorizationRequestOf,
  calendar,
  callTool,
  claimsOf,
  createProgram,
  mail,
  mailServer,
  postForm,
  readJson,
  type TokenResponse,
} from './stage.ts';

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';

/** The agent calls the mail server, which calls the calendar server: each token is for one of them. */
export async function tokenExchange({ stage, transcript, checks, tell }: Scene): Promise<void> {
  const chapter = 'exchange';
  const { managed, organization } = stage;
  const { client_id, client_secret } = agent;
  const assertion = await organization.sign({
    ...{ aud: managed.url, sub: 'ada-at-acme', client_id },
    ...{ resource: mail, scope: 'calendar:read' },
  });
  const received = await readJson<TokenResponse>(
    await postForm(transcript.as('client'), `${managed.url}/token`, {
      ...{ grant_type: JWT_BEARER, assertion, client_id, client_secret },
    }),
  );
  checks.expect(chapter, 'the token of the agent', mail, claimsOf(received.access_token)['aud']);
  const exchange = (target: string) =>
    postForm(transcript.as('server'), `${managed.url}/token`, {
      grant_type: TOKEN_EXCHANGE,
      subject_token: received.access_token,
      subject_token_type: ACCESS_TOKEN,
      resource: target,
      client_id: mailServer.client_id,
      client_secret: mailServer.client_secret,
    });
  const exchanged = await readJson<TokenResponse>(await exchange(calendar));
  const claims = claimsOf(exchanged.access_token);
  checks.expect(chapter, 'the token of the mail server', calendar, claims['aud']);
  checks.expect(chapter, 'the user is the same', claimsOf(received.access_token)['sub'], claims['sub']);
  checks.expect(
    chapter,
    'the chain of actors',
    { sub: mailServer.client_id, act: { sub: agent.client_id } },
    claims['act'],
  );
  checks.expect(chapter, 'no more scope', 'calendar:read', claims['scope']);
  tell('     (the mail server may call the calendar server only)\n');
  checks.expect(chapter, 'a server that is not listed', 400, (await exchange(managed.resource)).status);
}

/** A registration whose name was signed by an issuer that this server trusts. */
export async function softwareStatement({ stage, transcript, checks, tell }: Scene): Promise<void> {
  const chapter = 'statement';
  const { managed, organization } = stage;
  const send = transcript.as('client');
  const statement = (name: string) =>
    organization.sign({ client_name: name, software_id: 'acme-notebook' }, { typ: 'JWT' });
  const register = (metadata: object) =>
    send(`${managed.url}/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: ['http://127.0.0.1:33418/callback'], ...metadata }),
    });
  const software_statement = await statement('Notebook of Acme');
  const answer = await register({ software_statement, client_name: 'Your bank' });
  checks.expect(chapter, 'registration', 201, answer.status);
  const { client_name: name } = await readJson<{ readonly client_name: string }>(answer);
  checks.expect(chapter, 'the signed name wins', 'Notebook of Acme', name);
  tell('     (a statement whose name was changed)\n');
  const [header, , signature] = software_statement.split('.');
  const [, forged] = (await statement('Your bank')).split('.');
  const refused = await register({ software_statement: [header, forged, signature].join('.') });
  checks.expect(chapter, 'a statement with a changed name', 400, refused.status);
}

/** The client answers the challenge with a new sign-in. */
export async function stepUp({ stage, transcript, checks, tell }: Scene): Promise<void> {
  const chapter = 'step-up';
  const { recent } = stage;
  const program = createProgram(recent, transcript, tell);
  const first = await callTool(program.fetch, recent, 'whoami');
  checks.expect(chapter, 'an operation that demands nothing', 200, first.status);
  await transcript.settled();
  tell(`     (${TOO_OLD} seconds later)\n`);
  await sleep(TOO_OLD * 1000);
  const start = transcript.exchanges.length;
  const answer = await callTool(program.fetch, recent, 'add_note', { text: 'Signed in for this' });
  await transcript.settled();
  const said = transcript.exchanges.slice(start);
  const challenge = said[0]?.answered.get('www-authenticate') ?? '';
  checks.expect(
    chapter,
    'the challenge',
    true,
    challenge.includes('error="insufficient_user_authentication"') &&
      challenge.includes(`max_age="${MAX_AGE}"`),
  );
  checks.expect(
    chapter,
    'max_age in the request',
    String(MAX_AGE),
    authorizationRequestOf(said)?.get('max_age'),
  );
  checks.expect(chapter, 'the operation after the sign-in', 200, answer.status);
}
