/** Questions to an introspection endpoint: one for a token at a time, not too many at once, and none while it is down. */
import { temporarilyUnavailable } from '@portcullis/protocol/protected-resource';
import { withDeadline } from './deadline.ts';
import { ask, type RemoteLimits, readText } from './remote.ts';

/** What the issuer says of a token. */
type Introspection = Readonly<Record<string, unknown>>;

/** @throws OAuthError `temporarily_unavailable` when it cannot be found out now. */
export type AskAboutToken = (token: string, now: number) => Promise<Introspection>;

/** Questions under way. More would be waiting for each other anyway. */
const MOST_AT_ONCE = 256;

/** Seconds without a question after a failure, and at most when the endpoint itself asks for patience. */
const COOLDOWN = 1;
const LONGEST_COOLDOWN = 60;

/** What an endpoint answers that stumbles over one token. It says nothing of others, or a strange token would lock them out. */
const OVER_ONE_TOKEN: ReadonlySet<number> = new Set([400, 413, 414, 422, 431, 500]);

interface Question {
  readonly answer: Promise<Introspection>;
  /** Epoch seconds from which nothing will come any more. */
  readonly lostAt: number;
}

/** No answer, or none that says whether a token is active. */
class NoAnswer extends Error {
  override readonly name: string = 'NoAnswer';
  /** Seconds for which no token should be asked about. */
  readonly quiet: number;

  constructor(message: string, quiet: number) {
    super(message);
    this.quiet = quiet;
  }
}

/**
 * Creates what asks.
 * @param client with which the guard authenticates, by HTTP Basic
 * @see RFC 7662 §2.1
 */
export function createQuestions(
  endpoint: string,
  limits: RemoteLimits,
  client: { readonly id: string; readonly secret: string },
): AskAboutToken {
  const authorization = `Basic ${btoa(`${encode(client.id)}:${encode(client.secret)}`)}`;
  const underWay = new Map<string, Question>();
  const lostAfter = Math.ceil(limits.timeout / 1000) + 1;
  let quietUntil = 0;

  async function put(token: string): Promise<Introspection> {
    const response = await ask(endpoint, limits, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
    });
    if (response.status !== 200) throw await refusalOf(response);
    const answer: unknown = JSON.parse(await readText(response));
    if (!isIntrospection(answer)) throw new Error('the answer does not say whether the token is active');
    return answer;
  }

  function begin(token: string, now: number): Question {
    const answer = put(token).catch((error: unknown) => {
      const quiet = error instanceof NoAnswer ? error.quiet : COOLDOWN;
      quietUntil = Math.max(quietUntil, now + quiet);
      throw temporarilyUnavailable('introspection failed', Math.max(quiet, COOLDOWN), error);
    });
    const question = { answer, lostAt: now + lostAfter };
    const end = (): void => {
      if (underWay.get(token) === question) underWay.delete(token);
    };
    answer.then(end, end);
    underWay.set(token, question);
    return question;
  }

  /** Some runtimes drop a question together with the request that put it. */
  function forgetLost(now: number): void {
    for (const [token, { lostAt }] of underWay) if (now >= lostAt) underWay.delete(token);
  }

  return async (token, now) => {
    let question = underWay.get(token);
    if (question === undefined || now >= question.lostAt) {
      if (now < quietUntil)
        throw temporarilyUnavailable('introspection failed a moment ago', quietUntil - now);
      if (underWay.size >= MOST_AT_ONCE) forgetLost(now);
      if (underWay.size >= MOST_AT_ONCE)
        throw temporarilyUnavailable('too many questions are under way', COOLDOWN);
      question = begin(token, now);
    }
    return withDeadline(question.answer, limits.timeout + 1000);
  };
}

async function refusalOf(response: Response): Promise<NoAnswer> {
  await response.body?.cancel();
  const { status, headers } = response;
  const wanted = Math.ceil(Number(headers.get('retry-after') ?? COOLDOWN)) || COOLDOWN;
  const quiet = Math.min(Math.max(wanted, COOLDOWN), LONGEST_COOLDOWN);
  return new NoAnswer(`introspection answered ${status}`, OVER_ONE_TOKEN.has(status) ? 0 : quiet);
}

function isIntrospection(answer: unknown): answer is Introspection {
  return (
    typeof answer === 'object' &&
    answer !== null &&
    typeof (answer as { active?: unknown }).active === 'boolean'
  );
}

/** Identifier and secret are form-encoded before they are joined. @see OAuth 2.1 draft 13 §2.4.1 */
function encode(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}
