/** MFA: after the first factor, requires a TOTP or recovery code; the session starts once it is verified. */
import type { Parameters } from '@portcullis/protocol';
import type { PageRouter } from '../authorization/page-context.ts';
import type { AccountRecord } from '../store/index.ts';
import { type FormError, formErrorOptions, tooManyAttempts } from '../ui/form-error.ts';
import { respondPage } from '../ui/respond-page.ts';
import { type CompleteLogin, createCompleteLogin } from './complete-login.ts';
import type { LocalLogin } from './local-login.ts';
import { type LoginVisit, loginTargetFormRoute, rejectStaleForm } from './login-routes.ts';
import type { LoginTarget } from './login-target.ts';
import { mfaPage } from './mfa-view.ts';

/** Seconds in which the second factor must follow the first. */
const MFA_LIFETIME = 300;

export function createMfaStep(pages: PageRouter, { factors, verifyCode, deviceCookies }: LocalLogin) {
  const { store, clock, events, csrfTokens } = pages;
  const completeLogin = createCompleteLogin(deviceCookies);

  /** The form is bound to the first factor: the account, its current password, the browser and the login target. */
  const bindingOf = (loginTarget: LoginTarget, { account, until, first }: PendingMfa) => [
    account.id, until, account.passwordHash, first, ...loginTarget.binding,
  ]; // biome-ignore format: one list

  const showForm = (
    { context: { layout }, loginTarget }: LoginVisit,
    pending: PendingMfa,
    formError: FormError | null,
  ) => {
    const { account, until, first } = pending;
    const token = csrfTokens.issue('second-factor', ...bindingOf(loginTarget, pending));
    const fields = { ...loginTarget.fields, account: account.id, until, first, token };
    const page = mfaPage(layout, {
      fields,
      error: formError?.message ?? null,
      restartPath: loginTarget.restartPath,
    });
    return respondPage(page, formErrorOptions(formError));
  };

  const findPending = async (loginTarget: LoginTarget, form: Parameters): Promise<PendingMfa | null> => {
    const until = form.one('until') ?? '';
    const account = await store.findAccount(form.one('account') ?? '');
    if (account === null || account.disabledAt !== null || !(Number(until) > clock())) return null;
    const pending = { account, until, first: form.one('first') ?? '' };
    const isOurs = csrfTokens.matches(form.one('token'), 'second-factor', ...bindingOf(loginTarget, pending));
    return isOurs ? pending : null;
  };

  /** Completes the login, or requires the second factor if the account has one. */
  const startMfaOrComplete: CompleteLogin = async (visit, account, methods) => {
    if (methods.includes('mfa') || !(await factors.isEnabled(account.id)))
      return completeLogin(visit, account, methods);
    const until = String(clock() + MFA_LIFETIME);
    return showForm(visit, { account, until, first: methods.join(' ') }, null);
  };

  return {
    startMfaOrComplete,
    route: loginTargetFormRoute(pages, '/login/code', async (visit) => {
      const { context, loginTarget, form } = visit;
      const { layout } = context;
      const pending = await findPending(loginTarget, form);
      if (pending === null) return rejectStaleForm('/login/code', visit);
      const { account, first } = pending;
      const attempt = await verifyCode(account, form.one('code') ?? '', visit);
      if (attempt.kind === 'throttled')
        return showForm(visit, pending, tooManyAttempts(layout, attempt.retryAfter));
      if (!attempt.result) {
        events({ type: 'login.failed', accountId: account.id });
        return showForm(visit, pending, { message: layout.text('code.error'), status: 400 });
      }
      const methods = [...new Set([...first.split(' '), 'otp', 'mfa'])];
      return completeLogin(visit, account, methods);
    }),
  };
}

/** A user who has passed the first factor, and until when the second may follow. */
interface PendingMfa {
  readonly account: AccountRecord;
  readonly until: string;
  /** Methods of the first factor, separated by spaces. */
  readonly first: string;
}
