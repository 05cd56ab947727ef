/** The second step of a sign-in: whoever has proven one factor is nobody yet, and has no session, until the code is right. */
import type { Parameters } from '@portcullis/protocol';
import type { KnownBrowsers } from '../accounts/known-browsers.ts';
import type { SecondFactors } from '../accounts/second-factors.ts';
import type { SharedAttempts } from '../accounts/shared-attempts.ts';
import { codePage } from '../pages/codes.ts';
import type { Frame } from '../pages/layout.ts';
import { respondPage } from '../pages/respond.ts';
import type { AccountRecord } from '../ports/index.ts';
import type { Route } from '../routes.ts';
import { answerOptions, askToWait, type Complaint } from './complaint.ts';
import type { Errand } from './errand.ts';
import type { Rooms } from './rooms.ts';
import { readErrandForm, refuseStale } from './sign-in-form.ts';
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
  readonly knownBrowsers: KnownBrowsers;
  /** Ends a sign-in that is complete. */
  readonly letIn: Welcome;
}

export function createSecondStep(rooms: Rooms, hands: SecondStepHands): SecondStep {
  const { factors, attempts, knownBrowsers, letIn } = hands;
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
    return respondPage(page, answerOptions(complaint));
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
      const found = await readErrandForm(rooms, request, '/login/code');
      if ('refusal' in found) return found.refusal;
      const { form, errand } = found;
      const half = await findHalf(errand, form);
      if (half === null) return refuseStale(rooms, '/login/code', errand);
      const { account, until } = half;
      const attempt = await attempts.begin(account.id, peer.address, knownBrowsers.find(request, account));
      if (attempt.kind === 'wait') return ask(errand, account, until, askToWait(frame, attempt.seconds));
      if (!(await attempt.judge(factors.take(account, form.one('code') ?? '')))) {
        events({ type: 'login.failed', accountId: account.id });
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

function wrong(frame: Frame): Complaint {
  return { wrong: frame.text('code.wrong'), status: 400 };
}
