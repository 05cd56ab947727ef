/** What middleware of all frameworks shares: the options of a protected route, and the principal passed to its handler. */
import { ConfigurationError, type OptionNames, type Scopes, unknownOptionIssues } from '@portcullis/protocol';
import type { GuardDecision } from '../guard.ts';
import type { Principal } from '../principal.ts';

/** What a route requires in addition to its resource. */
export interface RouteOptions {
  readonly scopes?: Scopes;
}

const ROUTE: OptionNames<RouteOptions> = { scopes: true };

/** Rejects unknown option names, which would silently require nothing. @throws ConfigurationError */
export function checkRouteOptions(options: RouteOptions): void {
  const issues = unknownOptionIssues(options, ROUTE);
  if (issues.length > 0) throw new ConfigurationError(issues);
}

/** A symbol, so that neither a request nor a body parser can forge it. */
const PRINCIPAL: unique symbol = Symbol('principal');

interface PrincipalCarrier {
  [PRINCIPAL]?: Principal;
}

/** Attaches a principal to a framework's request or context. */
export function attachPrincipal(carrier: object, principal: Principal): void {
  (carrier as PrincipalCarrier)[PRINCIPAL] = principal;
}

/** Returns the attached principal, if any. */
export function attachedPrincipal(carrier: object): Principal | undefined {
  return (carrier as PrincipalCarrier)[PRINCIPAL];
}

/**
 * Returns the principal of an authorized request.
 * @throws TypeError if no guard runs before the handler: the route would be unprotected
 */
export function principalOf(carrier: object): Principal {
  const principal = attachedPrincipal(carrier);
  if (principal === undefined)
    throw new TypeError('No guard runs before this handler: put protect(guard) first.');
  return principal;
}

/** Continues with a decision: at once if nothing has to be awaited, as with a cached token. @param fail gets what a later `pass` throws */
export function whenDecided(
  decision: GuardDecision | Promise<GuardDecision>,
  pass: (decision: GuardDecision) => void,
  fail: (error: Error) => void,
): void {
  if (decision instanceof Promise) decision.then(pass).catch(fail);
  else pass(decision);
}
