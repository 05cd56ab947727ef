/** The page that creates a personal access token: asks for a credential, then for its permissions, and shows the token once. */
import type { HttpResponse } from '@portcullis/http';
import type { Parameters } from '@portcullis/protocol';
import { type AccountRequest, createAccountRoutes } from '../account/account-routes.ts';
import type { Confirmation } from '../account/confirmation.ts';
import type { ConfirmedChange } from '../account/confirmation-view.ts';
import type { PageContext, PageRouter } from '../authorization/page-context.ts';
import { PERSONAL_ACCESS_TOKEN_CLIENT } from '../clients/client.ts';
import { displayName } from '../display-name.ts';
import type { Route } from '../http/router.ts';
import type { ResourceDefinition } from '../resources/options.ts';
import { PERSONAL_ACCESS_TOKEN_PATH } from '../ui/account-tabs.ts';
import { respondPage } from '../ui/respond-page.ts';
import type { TextName } from '../ui/texts/texts.ts';
import { findScopeLimit } from '../users/scope-limits.ts';
import { createPersonalAccessToken, type NewPersonalAccessToken } from './personal-access-tokens.ts';
import { newTokenPage, scopeField, tokenPage } from './view.ts';

const ADD: ConfirmedChange = {
  action: PERSONAL_ACCESS_TOKEN_PATH,
  heading: 'tokens.new',
  why: 'tokens.what',
  button: 'passkey.continue',
};

const DAY = 86_400;
/** Days that a user can pick, as far as the operator allows them. */
const DAYS = [7, 30, 90, 365];

export function createPersonalAccessTokenRoutes(
  pages: PageRouter,
  confirmation: Confirmation,
): readonly Route[] {
  const routes = createAccountRoutes(pages, 'connections', 'own');
  const choices = daysUpTo(pages.options.lifetimes.personalAccessToken / DAY);

  const show = async (
    { context, user, parameters }: AccountRequest,
    proof: string,
    error: TextName | null = null,
  ): Promise<HttpResponse> => {
    const { layout } = context;
    const page = newTokenPage(layout, {
      fields: { token: routes.csrfToken(user), proof },
      resources: await offeredResources(context, user.account.id),
      days: choices,
      chosen: parameters,
      error: error === null ? null : layout.text(error),
    });
    return respondPage(page, { status: error === null ? 200 : 400 });
  };

  return [
    routes.page(ADD.action, (visit) => confirmation.ask(visit, ADD)),

    routes.form(ADD.action, async (visit) => {
      const { context, user, parameters } = visit;
      if (parameters.one('proof') === undefined) {
        const confirmed = await confirmation.check(visit, ADD);
        return 'response' in confirmed ? confirmed.response : show(visit, confirmed.proof);
      }
      if (!(await confirmation.isProven(visit, ADD.action))) return confirmation.ask(visit, ADD);
      const proof = parameters.required('proof');
      const wanted = readWanted(parameters, await offeredResources(context, user.account.id), choices);
      if (typeof wanted === 'string') return show(visit, proof, wanted);
      // One confirmation makes one token.
      if (!(await confirmation.consumeProof(visit))) return confirmation.ask(visit, ADD);
      const created = await createPersonalAccessToken(context, { ...wanted, accountId: user.account.id });
      if (created === 'too-many') return show(visit, proof, 'tokens.too-many');
      if (created === 'account-unavailable') return show(visit, proof, 'tokens.not-created');
      return respondPage(tokenPage(context.layout, { name: wanted.name, ...created }), { script: true });
    }),
  ];
}

/** At least one, even if the operator allows less than the shortest. */
function daysUpTo(most: number): readonly number[] {
  const allowed = DAYS.filter((days) => days <= most);
  return allowed.includes(most) ? allowed : [...allowed, most];
}

/**
 * The resources with the scopes that the user may grant. Left out are those without any, and those where the user picks a workspace:
 * a token has none.
 */
async function offeredResources(
  context: PageContext,
  accountId: string,
): Promise<readonly ResourceDefinition[]> {
  const { resources, workspaces } = context.options;
  const all = [...resources.values()];
  const offered = await Promise.all(
    all.map(async (definition) => {
      const found = await workspaces(accountId, definition.resource);
      if (found.length > 0) return null;
      const recipient = { clientId: PERSONAL_ACCESS_TOKEN_CLIENT, accountId };
      const defined = Object.entries(definition.scopes);
      const scopes = Object.keys(definition.scopes);
      const grantable = (await findScopeLimit(context, definition, recipient, scopes)).grantable(scopes);
      if (grantable.length === 0 && defined.length > 0) return null;
      return {
        ...definition,
        scopes: Object.fromEntries(defined.filter(([scope]) => grantable.includes(scope))),
      };
    }),
  );
  return offered.filter((one) => one !== null);
}

/** The requested token, or the text of what is missing. Values that the page did not offer are ignored. */
function readWanted(
  form: Parameters,
  offered: readonly ResourceDefinition[],
  choices: readonly number[],
): Omit<NewPersonalAccessToken, 'accountId'> | TextName {
  const name = displayName(form.one('name') ?? '');
  const resource = offered.find((one) => one.resource === form.one('resource'));
  const days = choices.find((choice) => String(choice) === form.one('days'));
  if (name === '') return 'tokens.name-missing';
  if (resource === undefined || days === undefined) return 'tokens.not-created';
  const defined = Object.keys(resource.scopes);
  const scopes = defined.filter((scope) => form.one(scopeField(resource, scope)) === 'yes');
  if (scopes.length === 0 && defined.length > 0) return 'tokens.scope-missing';
  return { name, resource: resource.resource, scopes, lifetime: Math.floor(days * DAY) };
}
