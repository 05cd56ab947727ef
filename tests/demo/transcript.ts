/** Every HTTP exchange of the demo: recorded for the checks, and printed as it happens. */
import { describeRequest, describeResponse } from './describe.ts';

/** The sender of a request. */
type Actor = 'client' | 'browser' | 'server' | 'attacker';

export interface RecordedRequest {
  readonly from: Actor;
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  /** Empty when nothing was sent. */
  readonly sent: string;
}

export interface Exchange extends RecordedRequest {
  readonly status: number;
  readonly answered: Headers;
  /** The body of the response. */
  readonly got: string;
}

export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

export interface Transcript {
  /** A `fetch` whose exchanges are recorded and printed. */
  as(actor: Actor): Fetch;
  /** All completed exchanges. */
  readonly exchanges: readonly Exchange[];
  /** Resolves when no exchange is pending. */
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
    tell(describeRequest(question, number));
    const response = await fetch(request);
    const { status, headers: answered } = response;
    const exchange = { ...question, status, answered, got: await response.clone().text() };
    exchanges.push(exchange);
    // While a browser waits for the client's page, the client sends other requests.
    tell(describeResponse(exchange, number === newest ? null : number));
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
