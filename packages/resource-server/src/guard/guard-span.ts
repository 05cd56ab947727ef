/** The span of an authorization, in that of its request: how long the token took to check, and what was refused. */
import { currentTracer, type Span, startSpan } from '@portcullis/protocol';

/** @returns `null`: nothing is traced, or the request has no span that this one could be a part of */
export function startGuardSpan(): Span | null {
  const tracer = currentTracer();
  if (tracer === null || tracer.active() === null) return null;
  return startSpan(
    () => 'authorize',
    () => ({ kind: 'internal' }),
  );
}

/** A refusal is no failure of the guard; a token that could not be checked is one. */
export function endGuardSpan<
  T extends
    | { readonly authorized: true; readonly principal: { readonly resource: string } }
    | { readonly authorized: false; readonly response: { readonly status: number } },
>(span: Span, decision: T): T {
  if (decision.authorized) {
    span.set({ 'portcullis.decision': 'allowed', 'portcullis.resource': decision.principal.resource });
    span.end();
    return decision;
  }
  const { status } = decision.response;
  span.set({ 'portcullis.decision': 'refused', 'http.response.status_code': status });
  span.end(status >= 500 ? String(status) : null);
  return decision;
}
