/** MFA: after the first factor, requires a TOTP or recovery code; the session starts once it is verified. */
import type { Parameters } from '@portcullis/protocol';
import type { PageContext, PageRouter } from '../authorization/page-context.ts';
import type { Route } from '../http/router.ts';
import type { LoginThrottle } from '../rate-limit/login-throttle.ts';
import type { AccountRecord } from '../store/index.ts';
import { type FormError, formErrorOptions, tooManyAttempts } from '../ui/form-error.ts';
import type { Layout } from '../ui/layout.ts';
import { respondPage } from '../ui/respond-page.ts';
import type { DeviceCookies } from '../users/device-cookie.ts';
import type { SecondFactors } from '../users/second-factors.ts';
import type { CompleteLogin } from './complete-login.ts';
import { readLoginTargetForm, rejectStaleForm } from './login-form.ts';
import type { LoginTarget } from './login-target.ts';
import { mfaPage } from './mfa-view.ts';

/** Seconds in which the second factor must follow the first. */
const MFA_LIFETIME = 300;

export interface MfaStep {
  /** Completes the login, or requires the second factor if the account has one. */
  readonly startMfaOrComplete: CompleteLogin;
  readonly route: Route;
}

interface MfaDependencies {
  readonly factors: SecondFactors;
  readonly throttle: LoginThrottle;
  readonly deviceCookies: DeviceCookies;
  readonly completeLogin: CompleteLogin;
}

export function createMfaStep(pages: PageRouter, dependencies: MfaDependencies): MfaStep {
  const { factors, throttle, deviceCookies, completeLogin } = dependencies;
  const { store, clock, events, csrfTokens } = pages;

  /** The form is bound to the first factor: the account, its current password, the browser and the login target. */
  const bindingOf = (loginTarget: LoginTarget, { account, until, first }: PendingMfa) => [
    account.id, until, account.passwordHash, first, ...loginTarget.binding,
  ]; // biome-ignore format: one list

  const showForm = (
    { layout }: PageContext,
    loginTarget: LoginTarget,
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

  return {
    startMfaOrComplete: async (context, request, connection, loginTarget, account, methods) => {
      if (methods.includes('mfa') || !(await factors.isEnabled(account.id)))
        return completeLogin(context, request, connection, loginTarget, account, methods);
      const until = String(clock() + MFA_LIFETIME);
      return showForm(context, loginTarget, { account, until, first: methods.join(' ') }, null);
    },

    route: pages.route('POST', '/login/code', async (context, request, connection) => {
      const found = await readLoginTargetForm(context, request, '/login/code');
      if ('rejection' in found) return found.rejection;
      const { form, loginTarget } = found;
      const pending = await findPending(loginTarget, form);
      if (pending === null) return rejectStaleForm(context, '/login/code', loginTarget);
      const { account, first } = pending;
      const device = deviceCookies.findDevice(request, account);
      const attempt = await throttle({ account: account.id, connection, device }, () =>
        factors.verify(account, form.one('code') ?? ''),
      );
      if (attempt.kind === 'throttled')
        return showForm(context, loginTarget, pending, tooManyAttempts(context.layout, attempt.retryAfter));
      if (!attempt.result) {
        events({ type: 'login.failed', accountId: account.id });
        return showForm(context, loginTarget, pending, wrongCode(context.layout));
      }
      const methods = [...new Set([...first.split(' '), 'otp', 'mfa'])];
      return completeLogin(context, request, connection, loginTarget, account, methods);
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

function wrongCode(layout: Layout): FormError {
  return { message: layout.text('code.error'), status: 400 };
}
