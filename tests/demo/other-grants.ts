/** Chapters of grants without a redirect: an organization's identity provider vouches for its user, and a device without a browser. */
import { owner } from '../support/portcullis.ts';
import { visit } from '../support/visit.ts';
import type { Scene } from './chapters.ts';
import {
  agent,
  bearer,
  callTool,
  claimsOf,
  postForm,
  readJson,
  type TokenResponse,
  television,
} from './stage.ts';

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';

/** Enterprise-managed authorization: no page, no consent; the identity provider decides. */
export async function identityAssertion({ stage, transcript, checks, tell }: Scene): Promise<void> {
  const chapter = 'ID-JAG';
  const { managed, organization } = stage;
  const send = transcript.as('client');
  const claims = { aud: managed.url, sub: 'ada-at-acme', client_id: agent.client_id };
  const assertion = await organization.sign({ ...claims, resource: managed.resource, scope: 'notes:read' });
  const credentials = { client_id: agent.client_id, client_secret: agent.client_secret };
  const redeem = () =>
    postForm(send, `${managed.url}/token`, { grant_type: JWT_BEARER, assertion, ...credentials });
  const tokens = await readJson<TokenResponse>(await redeem());
  checks.expect(
    chapter,
    'a token of the user for one server',
    managed.resource,
    claimsOf(tokens.access_token)['aud'],
  );
  checks.expect(chapter, 'no refresh token', false, 'refresh_token' in tokens);
  const answer = await callTool(send, managed, 'list_notes', {}, bearer(tokens.access_token));
  checks.expect(chapter, 'request with the token', 200, answer.status);
  tell('     (the same assertion once more)\n');
  checks.expect(chapter, 'an assertion is used once', 400, (await redeem()).status);
}

/** The device grant: the user signs in on another screen while the device polls. */
export async function deviceGrant({ stage, transcript, checks, tell }: Scene): Promise<void> {
  const chapter = 'device';
  const { managed } = stage;
  const send = transcript.as('client');
  const { client_id } = television;
  const started = await readJson<{
    readonly device_code: string;
    readonly verification_uri_complete: string;
    readonly interval: number;
  }>(await postForm(send, `${managed.url}/device_authorization`, { client_id, resource: managed.resource }));
  const poll = () =>
    postForm(send, `${managed.url}/token`, {
      grant_type: DEVICE_CODE,
      device_code: started.device_code,
      client_id,
    });
  const early = await readJson<{ readonly error: string }>(await poll());
  checks.expect(chapter, 'before the user has decided', 'authorization_pending', early.error);
  tell('     (the user enters the code elsewhere, signs in and allows access)\n');
  const answers = { email: owner.email, password: owner.password, decision: 'allow' };
  await visit(started.verification_uri_complete, { answers });
  await new Promise((resolve) => setTimeout(resolve, (started.interval + 0.5) * 1000));
  const tokens = await readJson<TokenResponse>(await poll());
  const answer = await callTool(send, managed, 'list_notes', {}, bearer(tokens.access_token));
  checks.expect(chapter, 'request with the token of the device', 200, answer.status);
}
