/** The federation chapter of the demo: the seven steps, as seen by the client, the browser and the identity provider. */
import { owner } from '../support/portcullis.ts';
import { createUser, type ProviderLogin } from '../support/user.ts';
import type { Scene } from './chapters.ts';
import {
  authorizationRequestOf,
  callTool,
  claimsOf,
  createProgram,
  findExchange,
  formOf,
  type TokenResponse,
} from './stage.ts';
import type { Exchange } from './transcript.ts';

const chapter = 'federation';

/** A user with an account at the identity provider, and none here. */
const password = 'known to the identity provider only';

export async function identityProvider(scene: Scene): Promise<void> {
  const { stage, transcript, checks, tell } = scene;
  const { delegating, identityProvider: party } = stage;
  const start = transcript.exchanges.length;
  const browser = transcript.as('browser');
  const there: ProviderLogin = { id: 'github', origin: party.origin, login: 'ada', password };
  const user = createUser(owner, browser, there);
  const program = createProgram(delegating, transcript, tell, {
    browser: { open: async (url) => void user.authorize(url).then(browser) },
  });
  const answer = await callTool(program.fetch, delegating, 'list_repositories');
  await transcript.settled();
  const said = transcript.exchanges.slice(start);
  const tokens = tokensOf(said);

  const asked = checkFederatedLogin(scene, said);
  checkReturn(scene, said);
  const claims = claimsOf(tokens.access_token);
  checks.expect(chapter, '6: a token of our own', false, party.given.includes(tokens.access_token));
  checks.expect(chapter, '6: bound to what was given there', true, typeof claims['grant_id'] === 'string');
  checkCompletion(scene, said, asked);
  checks.expect(
    chapter,
    '7: the client exchanges our code',
    200,
    findExchange(said, 'POST', '/token')?.status,
  );
  checks.expect(chapter, 'the request again, with our token', 200, answer.status);
  const heard = party.received();
  checks.expect(
    chapter,
    'the server acts there with their token',
    true,
    heard.includes(party.given[0] ?? ''),
  );
  checks.expect(chapter, 'our token goes there', false, heard.includes(tokens.access_token));
  await checkEnd(scene, tokens);
}

function tokensOf(said: readonly Exchange[]): TokenResponse {
  return JSON.parse(findExchange(said, 'POST', '/token')?.got ?? '{}');
}

/** Steps 1 and 2: the client's authorization request, our consent, and the server's own authorization request at the provider. */
function checkFederatedLogin(
  { checks, stage }: Scene,
  said: readonly Exchange[],
): URLSearchParams | undefined {
  const { delegating, identityProvider: party } = stage;
  const asked = authorizationRequestOf(said);
  checks.expect(chapter, '1: the client starts the normal flow', 'code', asked?.get('response_type'));
  const consent = said.find(({ got }) => got.includes('name="decision"'));
  const left = findExchange(said, 'GET', '/login/oauth/authorize');
  const consentFirst =
    consent !== undefined && left !== undefined && said.indexOf(consent) < said.indexOf(left);
  checks.expect(chapter, '2: our consent comes before', true, consentFirst);
  const sent = left?.url.searchParams;
  checks.expect(chapter, '2: as a client of the identity provider', party.client.id, sent?.get('client_id'));
  checks.expect(
    chapter,
    '2: back to our own callback',
    `${delegating.url}/callback/github`,
    sent?.get('redirect_uri'),
  );
  checks.expect(chapter, '2: with a state of its own', false, sent?.get('state') === asked?.get('state'));
  checks.expect(chapter, '2: with PKCE', 'S256', sent?.get('code_challenge_method'));
  return asked;
}

/** Steps 3 to 5: the user signs in at the provider, and the code is redeemed server to server. */
function checkReturn({ checks, stage: { identityProvider: party } }: Scene, said: readonly Exchange[]): void {
  const typed = said.filter(({ sent }) => new URLSearchParams(sent).get('password') === password);
  checks.expect(
    chapter,
    '3: the password is typed there alone',
    [party.origin],
    typed.map(({ url }) => url.origin),
  );
  const back = findExchange(said, 'GET', '/callback/github');
  checks.expect(
    chapter,
    '4: the identity provider redirects to us with a code',
    true,
    back?.url.searchParams.has('code'),
  );
  const redeemed = party.count('POST /login/oauth/access_token');
  checks.expect(chapter, '5: the server redeems it, behind the browser', 1, redeemed);
  checks.expect(chapter, '5: no other party saw a provider token', [], seenTokens(said, party.given));
}

/** Step 7: the authorization ends as it would have without an identity provider. */
function checkCompletion(
  { checks, stage: { delegating } }: Scene,
  said: readonly Exchange[],
  asked: URLSearchParams | undefined,
): void {
  const back = findExchange(said, 'GET', '/callback/github');
  const returned = findExchange(said, 'GET', '/callback')?.url.searchParams;
  checks.expect(
    chapter,
    '7: the state of the client comes back',
    asked?.get('state'),
    returned?.get('state'),
  );
  const isOurs = returned?.get('code') !== back?.url.searchParams.get('code');
  checks.expect(chapter, '7: with a code of ours', true, isOurs);
  const redemption = formOf(findExchange(said, 'POST', '/token'));
  checks.expect(
    chapter,
    '7: which the client redeems here',
    delegating.url,
    originOf(said, redemption.get('code')),
  );
}

function originOf(said: readonly Exchange[], code: string | null): string | undefined {
  return said.find(({ sent }) => code !== null && new URLSearchParams(sent).get('code') === code)?.url.origin;
}

function seenTokens(said: readonly Exchange[], tokens: readonly string[]): readonly string[] {
  const all = said.map(({ url, sent, got, headers }) =>
    [url.href, sent, got, ...headers.values()].join('\n'),
  );
  return tokens.filter((token) => all.some((text) => text.includes(token)));
}

/** The identity provider revokes its tokens: within the status check interval ours are rejected too. */
async function checkEnd({ checks, stage, transcript, tell }: Scene, tokens: TokenResponse): Promise<void> {
  stage.identityProvider.revokeAll();
  tell(
    '     (the user revokes access at the identity provider; two seconds pass, one more than the bound of this server)\n',
  );
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const late = await callTool(
    transcript.as('client'),
    stage.delegating,
    'list_repositories',
    {},
    {
      authorization: `Bearer ${tokens.access_token}`,
    },
  );
  checks.expect(chapter, 'after the identity provider has revoked it', 401, late.status);
}
