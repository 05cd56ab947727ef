/** Passes a principal from middleware to handlers on the object that a framework hands to both. */
import type { Principal } from '../principal.ts';

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
