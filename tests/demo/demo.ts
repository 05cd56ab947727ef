/** `npm run demo`: both profiles, refresh, client credentials and rejections over real HTTP, printed exchange by exchange. */
import { stripVTControlCharacters } from 'node:util';
import { owner } from '../support/portcullis.ts';
import {
  boundToken,
  clientCredentials,
  profileA,
  profileAWithoutMetadata,
  profileB,
  refresh,
  type Scene,
} from './chapters.ts';
import { createChecks, formatChecks } from './checks.ts';
import { softwareStatement, stepUp, tokenExchange } from './extensions.ts';
import { identityProvider } from './federation.ts';
import { deviceGrant, identityAssertion } from './other-grants.ts';
import {
  getShortLivedToken,
  rejectAtTokenEndpoint,
  rejectInsufficientScope,
  rejectMalformed,
  rejectUnauthorized,
} from './refusals.ts';
import { agent, robot, setStage } from './stage.ts';
import { createTranscript } from './transcript.ts';

let told = '';
function tell(text: string): void {
  told += text;
  process.stdout.write(`${text}\n`);
}

function chapter(title: string): void {
  tell(`── ${title} ${'─'.repeat(Math.max(0, 100 - title.length))}\n`);
}

const stage = await setStage();
const checks = createChecks();
const transcript = createTranscript(tell);
const scene: Scene = { stage, transcript, checks, tell };
try {
  chapter('Beforehand: a token that will have expired by the end');
  const shortLived = await getShortLivedToken(scene);
  chapter('Profile A: the server is its own authorization server, and publishes metadata');
  await profileA(scene);
  chapter('Profile A without metadata: default endpoints at the root of the host');
  await profileAWithoutMetadata(scene);
  chapter('Profile B: resource metadata leads to the authorization server, tokens are for one resource');
  const first = await profileB(scene);
  chapter('An application acts for itself: client credentials');
  await clientCredentials(scene);
  chapter('Federation: users sign in at an identity provider, and the server reads there for them');
  await identityProvider(scene);
  chapter('A token that is bound to a key: DPoP, with a pushed request');
  await boundToken(scene);
  chapter('Enterprise-managed: the identity provider of an organization vouches for its user');
  await identityAssertion(scene);
  chapter('A device without a browser');
  await deviceGrant(scene);
  chapter('Token exchange: a server calls another one for its user');
  await tokenExchange(scene);
  chapter('A software statement: a trusted issuer says who a client is');
  await softwareStatement(scene);
  chapter('Step-up authentication: an operation demands a recent sign-in');
  await stepUp(scene);
  chapter('Refresh and rotation');
  const newest = await refresh(scene, first);
  chapter('Refusals, 403: not allowed to do that');
  await rejectInsufficientScope(scene, first);
  chapter('Refusals, 400: malformed');
  await rejectMalformed(scene, newest);
  chapter('Refusals, 401: not proven, invalid, expired');
  await rejectUnauthorized(scene, newest, shortLived);
  chapter('Refusals at the token endpoint');
  await rejectAtTokenEndpoint(scene, first, newest);
  checks.expect('all', 'secrets in what was told', [], secretsIn(told));
} catch (error) {
  checks.expect('all', 'how it ended', 'as planned', String(error));
} finally {
  await stage.close();
}

/** Secrets sent over the network that appear in the printed output. */
function secretsIn(text: string): readonly string[] {
  const plain = stripVTControlCharacters(text);
  const named = /"(?:access_token|refresh_token)":"([^"]+)"|\b(?:code|code_verifier)=([\w.~-]+)/g;
  const sent = transcript.exchanges.flatMap(({ sent, got, url }) => [
    ...`${sent}\n${got}\n${url.search}`.matchAll(named),
  ]);
  const secrets = sent
    .map(([, member, parameter]) => member ?? parameter ?? '')
    .filter((text) => text.length > 20);
  const others = [owner.password, robot.client_secret, agent.client_secret, ...stage.identityProvider.given];
  return [...new Set([...secrets, ...others])].filter((secret) => plain.includes(secret));
}

chapter('Expected and seen');
process.stdout.write(`${formatChecks(checks.all)}\n\n`);
const failed = checks.all.filter(({ passed }) => !passed).length;
process.stdout.write(`${checks.all.length - failed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 && checks.all.length > 0 ? 0 : 1;
