/** The second step of a sign-in: whoever has proven one factor is nobody yet, and has no session, until the code is right. */
import { readForm } from '@portcullis/http';
import type { Parameters } from '@portcullis/protocol';
import type { SecondFactors } from '../accounts/second-factors.ts';
import type { SharedAttempts } from '../accounts/shared-attempts.ts';
import { codePage } from '../pages/codes.ts';
import type { Frame } from '../pages/layout.ts';
import { respondPage } from '../pages/respond.ts';
import { waitInWords } from '../pages/times.ts';
import type { AccountRecord } from '../ports/index.ts';
import type { Route } from '../routes.ts';
import type { Errand } from './errand.ts';
import { findErrand } from './errands.ts';
import { isForeignForm } from './form-tokens.ts';
import type { Rooms } from './rooms.ts';
import type { Welcome } from './welcome.ts';

/** Seconds between the first factor and the second. */
const PATIENCE = 300;

export interface SecondStep {
  /** Lets in who needs no second factor, and asks the others for it. */
  readonly welcome: Welcome;
  readonly route: Route;
}

interface SecondStepHands {
  readonly factors: SecondFactors;
  readonly attempts: SharedAttempts;
  /** Ends a sign-in that is complete. */
  readonly letIn: Welcome;
}

export function createSecondStep(rooms: Rooms, { factors, attempts, letIn }: SecondStepHands): SecondStep {
  const { configuration, edge, formTokens, frame } = rooms;
  const { store, clock, events } = configuration;

  /** A form is bound to the first factor: to the account, its password of now, the browser and the errand. */
  const bound = (errand: Errand, { id, passwordHash }: AccountRecord, until: string) => [
    id, until, passwordHash, ...errand.bound,
  ]; // biome-ignore format: one list

  const ask = (errand: Errand, account: AccountRecord, until: string, complaint: Complaint | null) => {
    const token = formTokens.mint('second-step', ...bound(errand, account, until));
    const fields = { ...errand.fields, account: account.id, until, token };
    const page = codePage(frame, { fields, wrong: complaint?.wrong ?? null, again: errand.path });
    const headers =
      complaint?.retryAfter === undefined ? {} : { 'retry-after': String(complaint.retryAfter) };
    return respondPage(page, { status: complaint?.status ?? 200, headers });
  };

  const findHalf = async (errand: Errand, form: Parameters): Promise<Half | null> => {
    const until = form.one('until') ?? '';
    const account = await store.findAccount(form.one('account') ?? '');
    if (account === null || account.disabledAt !== null || !(Number(until) > clock())) return null;
    const isOurs = formTokens.matches(form.one('token'), 'second-step', ...bound(errand, account, until));
    return isOurs ? { account, until } : null;
  };

  return {
    welcome: async (request, peer, errand, account, proof) => {
      if (proof === 'both' || !(await factors.isOn(account.id)))
        return letIn(request, peer, errand, account, 'both');
      return ask(errand, account, String(clock() + PATIENCE), null);
    },

    route: edge.route('POST', '/login/code', async (request, peer) => {
      const form = await readForm(request);
      const errand = await findErrand(rooms, request, form);
      if ('missing' in errand) return edge.refuse('/login/code', errand.missing);
      const half = await findHalf(errand, form);
      if (half === null || isForeignForm(request, configuration.issuer)) {
        const action = { label: frame.text('sign-in.again'), href: errand.path };
        return edge.refuse('/login/code', 'stale-form', { action });
      }
      const { account, until } = half;
      const attempt = await attempts.begin(account.id, peer.address);
      if (attempt.kind === 'wait') return ask(errand, account, until, waitFor(frame, attempt.seconds));
      if (!(await attempt.judge(factors.take(account, form.one('code') ?? '')))) {
        events({ type: 'account.sign-in-refused', accountId: account.id });
        await attempt.failed();
        return ask(errand, account, until, wrong(frame));
      }
      attempt.succeeded();
      return letIn(request, peer, errand, account, 'both');
    }),
  };
}

/** Who has proven the first factor, and until when the second may follow. */
interface Half {
  readonly account: AccountRecord;
  readonly until: string;
}

interface Complaint {
  readonly wrong: string;
  readonly status: number;
  readonly retryAfter?: number;
}

function wrong(frame: Frame): Complaint {
  return { wrong: frame.text('code.wrong'), status: 400 };
}

function waitFor(frame: Frame, seconds: number): Complaint {
  const time = waitInWords(seconds, frame.language);
  return { wrong: frame.text('sign-in.wrong.wait', { time }), status: 429, retryAfter: seconds };
}
