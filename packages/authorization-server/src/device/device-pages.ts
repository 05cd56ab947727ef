/** The pages of device authorization: a user enters the code of a device, checks which client requests access, then signs in and consents. */
import { type ConnectionInfo, type HttpRequest, type HttpResponse, queryOf } from '@portcullis/http';
import { checkAuthorizationRequest, type Parameters, readParameters } from '@portcullis/protocol';
import { continueTransaction } from '../authorization/continue-transaction.ts';
import type { PageContext, PageRouter, PageServices } from '../authorization/page-context.ts';
import { DEVICE_CALLBACK, deviceTarget } from '../authorization/resolve-client.ts';
import { openTransaction } from '../authorization/transactions.ts';
import type { ResolvedClient } from '../clients/client.ts';
import { clientDisplayName } from '../display-name.ts';
import type { PostedForm } from '../http/page-route.ts';
import type { Route } from '../http/router.ts';
import { createRateLimitCheck } from '../rate-limit/limiter.ts';
import { siteOf } from '../rate-limit/policies.ts';
import { hashSecret, lookupKeyOf } from '../secrets.ts';
import type { DeviceAuthorizationRecord } from '../store/index.ts';
import { messagePage } from '../ui/message-page.ts';
import { respondPage } from '../ui/respond-page.ts';
import { codePage, confirmPage } from './device-view.ts';
import { readUserCode, showUserCode } from './user-code.ts';

const PATH = '/device';

interface FoundDevice {
  readonly device: DeviceAuthorizationRecord;
  readonly client: ResolvedClient;
  readonly userCode: string;
}

/** @see RFC 8628 §3.3 and §5 */
export function createDevicePages(pages: PageRouter): readonly Route[] {
  const chargeGuess = createRateLimitCheck(pages, 'deviceCodes');
  return [
    pages.route('GET', PATH, async ({ layout }, request) => {
      const given = readParameters(queryOf(request)).one('user_code') ?? '';
      return respondPage(
        codePage(layout, { userCode: readUserCode(given) === null ? '' : given, isWrong: false }),
      );
    }),
    pages.form(PATH, enterCode),
    pages.route('GET', DEVICE_CALLBACK, complete),
  ];

  /** A link with the code is not a decision: the user compares the code with that on the device, and continues. @see RFC 8628 §3.3.1 */
  async function enterCode({
    context,
    request,
    connection,
    form,
  }: PostedForm<PageServices>): Promise<HttpResponse> {
    const { layout } = context;
    // Every code is a guess until it was found. A user without a known address is limited with all of them.
    await chargeGuess(siteOf(connection) ?? 'unknown');
    const found = await findDevice(context, form);
    if (found === null) {
      const page = codePage(layout, { userCode: form.one('user_code') ?? '', isWrong: true });
      return respondPage(page, { status: 400 });
    }
    if (form.one('confirmed') === 'yes') return authorizeDevice(context, request, connection, found);
    const { device, client, userCode } = found;
    return respondPage(
      confirmPage(layout, {
        userCode: showUserCode(userCode),
        appName: clientDisplayName(client, layout),
        from: device.requestedFrom,
        createdAt: device.createdAt,
        now: context.clock(),
      }),
    );
  }
}

async function findDevice(context: PageContext, form: Parameters): Promise<FoundDevice | null> {
  const userCode = readUserCode(form.one('user_code') ?? '');
  if (userCode === null) return null;
  const device = await context.store.findDeviceAuthorizationByUserCode(hashSecret(userCode), context.clock());
  const client = device === null ? null : await context.findClient(device.clientId, 'resume');
  return device === null || client === null ? null : { device, client, userCode };
}

/** Opens the authorization transaction of the device. A remembered consent never counts: an attacker may have sent the code. */
async function authorizeDevice(
  context: PageContext,
  request: HttpRequest,
  connection: ConnectionInfo,
  { device, client }: FoundDevice,
): Promise<HttpResponse> {
  const { sessions, federation, options } = context;
  const target = deviceTarget(options.issuer);
  const parameters = readParameters(
    new URLSearchParams([
      ['redirect_uri', target.uri],
      ['response_type', 'code'],
      ['code_challenge', device.codeChallenge],
      ['code_challenge_method', 'S256'],
      ['state', device.hash],
    ]),
  );
  const user = await sessions.find(request);
  const { identityProvider, isSatisfied } = await federation.resolveLoginMethod(null, user);
  const { transaction, cookies } = await openTransaction(context, request, {
    client,
    target,
    parameters,
    authorizationRequest: checkAuthorizationRequest(parameters),
    resource: device.resource ?? '',
    scopes: device.scopes ?? [],
    user,
    identityProvider,
    accountId: isSatisfied ? (user?.account.id ?? null) : null,
    decision: null,
    connection,
  });
  return continueTransaction(context, transaction, cookies);
}

/**
 * The end of the transaction: records the decision, unless another browser was faster or the code has expired. Only `access_denied`
 * ends a device authorization: the user denied, or may not log in here.
 */
async function complete(context: PageContext, request: HttpRequest): Promise<HttpResponse> {
  const { store, clock, layout, events } = context;
  const query = readParameters(queryOf(request));
  const device = await store.findDeviceAuthorization(query.one('state') ?? '');
  const code = query.one('code');
  if (device !== null && code === undefined && query.one('error') !== 'access_denied')
    return showFailure(context, query.one('error'));
  const codeHash = code === undefined ? null : lookupKeyOf(code);
  const issued = codeHash === null ? null : await store.findCode(codeHash);
  // A code of another transaction decides nothing.
  const isOurs = device !== null && (code === undefined || issued?.codeChallenge === device.codeChallenge);
  const isDecided = isOurs && (await store.decideDeviceAuthorization(device.hash, codeHash, clock()));
  if (!isDecided) {
    if (codeHash !== null && isOurs) await store.invalidateCode(codeHash, clock());
    return respondPage(
      messagePage(layout, {
        heading: layout.text('device.gone'),
        sentences: [layout.text('device.gone-why')],
        action: enterAgain(layout),
      }),
      { status: 400 },
    );
  }
  const outcome = codeHash === null ? 'denied' : 'approved';
  events({
    type: `device_authorization.${outcome}`,
    clientId: device.clientId,
    ...(issued !== null && { accountId: issued.accountId, grantId: issued.grantId }),
  });
  return respondPage(
    messagePage(layout, {
      isDone: outcome === 'approved',
      heading: layout.text(`device.${outcome}`),
      sentences: [layout.text(`device.${outcome}-what`)],
    }),
  );
}

/** The page for an error of the transaction, which is in the audit log already. */
function showFailure({ errors, layout }: PageContext, error: string | undefined): Promise<HttpResponse> {
  const isOutage = error === 'temporarily_unavailable';
  const page = isOutage ? 'busy' : error === 'server_error' ? 'failed' : 'bad-request';
  return errors.show(PATH, page, { action: enterAgain(layout) });
}

function enterAgain(layout: PageContext['layout']) {
  return { label: layout.text('device.again'), href: PATH };
}
