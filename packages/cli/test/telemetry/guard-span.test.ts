/** The guard of a server that its framework traces. */
import { trace } from '@opentelemetry/api';
import { traceWithOpenTelemetry } from '@portcullis/http/opentelemetry';
import { createGuard } from '@portcullis/resource-server';
import { expect, it } from 'vitest';
import { recordSpans } from '../../../../tests/support/recorded-spans.ts';
import { createIssuer, NOW, RESOURCE } from '../../../resource-server/test/support/issuer.ts';

async function createGuarded() {
  const issuer = await createIssuer();
  const guard = createGuard({
    resource: RESOURCE,
    verifier: issuer.verifier(),
    clock: () => NOW,
    events: () => {},
  });
  const authorize = (authorization?: string) =>
    guard.authorize({ method: 'POST', url: RESOURCE, authorization });
  return { authorize, authorization: `Bearer ${await issuer.token()}` };
}

it('adds a span to that of the request, which says what was decided and nothing of the token', async () => {
  const { authorize, authorization } = await createGuarded();
  const spans = recordSpans();
  traceWithOpenTelemetry();
  const within = (given?: string) =>
    trace.getTracer('framework').startActiveSpan('POST /mcp', async (span) => {
      const { authorized } = await authorize(given);
      span.end();
      return authorized;
    });
  // From the cache, too.
  expect([await within(authorization), await within(authorization), await within()]).toEqual([
    true,
    true,
    false,
  ]);
  const found = spans.getFinishedSpans();
  expect(found.map(({ name }) => name)).toEqual([
    ...['authorize', 'POST /mcp', 'authorize', 'POST /mcp', 'authorize', 'POST /mcp'],
  ]);
  const allowed = { 'portcullis.decision': 'allowed', 'portcullis.resource': RESOURCE };
  const refused = { 'portcullis.decision': 'refused', 'http.response.status_code': 401 };
  expect([found[0], found[2], found[4]].map((span) => span?.attributes)).toEqual([allowed, allowed, refused]);
  expect(found[0]?.parentSpanContext?.spanId).toBe(found[1]?.spanContext().spanId);
});

it('begins no trace of its own, and none without a tracer', async () => {
  const { authorize, authorization } = await createGuarded();
  const spans = recordSpans();
  await authorize(authorization);
  traceWithOpenTelemetry();
  await authorize(authorization);
  expect(spans.getFinishedSpans()).toEqual([]);
});
