/** Every HTTP exchange of the demonstration: remembered for the checks, and told as it happens. */
import { describeAnswer, describeQuestion } from './describe.ts';

/** Who sends a request. */
type Actor = 'client' | 'browser' | 'attacker';

export interface Question {
  readonly from: Actor;
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  /** Empty when nothing was sent. */
  readonly sent: string;
}

export interface Exchange extends Question {
  readonly status: number;
  readonly answered: Headers;
  /** The body of the answer. */
  readonly got: string;
}

export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

export interface Transcript {
  /** A `fetch` whose exchanges are remembered and told. */
  as(actor: Actor): Fetch;
  /** All that have been answered. */
  readonly exchanges: readonly Exchange[];
  /** Resolves when nothing is under way. */
  settled(): Promise<void>;
}

export function createTranscript(tell: (text: string) => void): Transcript {
  const exchanges: Exchange[] = [];
  const underWay = new Set<Promise<unknown>>();
  let newest = 0;

  async function send(from: Actor, request: Request): Promise<Response> {
    const number = ++newest;
    const question = {
      from,
      method: request.method,
      url: new URL(request.url),
      headers: request.headers,
      sent: await request.clone().text(),
    };
    tell(describeQuestion(question, number));
    const response = await fetch(request);
    const { status, headers: answered } = response;
    const exchange = { ...question, status, answered, got: await response.clone().text() };
    exchanges.push(exchange);
    // While a browser waits for the client's page, the client speaks with others.
    tell(describeAnswer(exchange, number === newest ? null : number));
    return response;
  }

  return {
    exchanges,
    as: (from) => (input, init) => {
      const answer = send(from, new Request(input, init));
      const done: Promise<unknown> = answer.catch(() => undefined).finally(() => underWay.delete(done));
      underWay.add(done);
      return answer;
    },
    async settled() {
      await Promise.all(underWay);
    },
  };
}
