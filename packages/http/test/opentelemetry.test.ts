/** Spans by the API of OpenTelemetry, as its SDK records them. */
import { traceWithOpenTelemetry } from '@portcullis/http/opentelemetry';
import { currentTracer, inSpan, startSpan, type TraceContext } from '@portcullis/protocol';
import { afterEach, expect, it } from 'vitest';
import { endTracing, recordSpans } from '../../../tests/support/recorded-spans.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const traceparent = `00-${TRACE}-${PARENT}-01`;

afterEach(endTracing);

const start = (received: { context: TraceContext | null; isTrusted: boolean }) =>
  startSpan(
    () => 'request',
    () => ({ kind: 'server', received }),
  );

it('measures nothing and describes nothing without a tracer', async () => {
  const describe = () => {
    throw new Error('described');
  };
  expect(startSpan(describe, describe)).toBeNull();
  expect(await inSpan(null, async () => 'done')).toBe('done');
});

it('measures nothing while no SDK is registered, and passes a trusted trace on', () => {
  traceWithOpenTelemetry();
  expect(start({ context: { traceparent }, isTrusted: false })).toBeNull();
  expect(start({ context: null, isTrusted: false })).toBeNull();
  expect(start({ context: { traceparent }, isTrusted: true })?.context).toEqual({ traceparent });
  expect(currentTracer()?.active()).toBeNull();
});

it('continues a trusted trace, with its state, and links any other', () => {
  recordSpans();
  traceWithOpenTelemetry();
  const received = { traceparent, tracestate: 'vendor=1' };
  const trusted = start({ context: received, isTrusted: true });
  expect(trusted?.context).toEqual({
    traceparent: expect.stringMatching(`^00-${TRACE}-[0-9a-f]{16}-01$`),
    tracestate: 'vendor=1',
  });
  const other = start({ context: received, isTrusted: false });
  expect(other?.traceId).not.toBe(TRACE);
  expect(other?.context).toEqual({
    traceparent: `00-${other?.traceId}-${other?.context.traceparent.slice(36)}`,
  });
});

it.each([
  ['of a reserved version', `ff-${TRACE}-${PARENT}-01`],
  ['with capital letters', `00-${TRACE.toUpperCase()}-${PARENT}-01`],
  ['without a trace', `00-${'0'.repeat(32)}-${PARENT}-01`],
  ['without a span', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['with more fields than its version has', `00-${TRACE}-${PARENT}-01-more`],
  ['with a line break', `00-${TRACE}-${PARENT}-01\n`],
  ['of any other text', 'x'.repeat(10_000)],
])('drops a malformed trace context %s', (_, malformed) => {
  const exporter = recordSpans();
  traceWithOpenTelemetry();
  for (const isTrusted of [true, false]) start({ context: { traceparent: malformed }, isTrusted })?.end();
  start({ context: { traceparent: `01-${TRACE}-${PARENT}-01-more` }, isTrusted: true })?.end();
  const spans = exporter.getFinishedSpans();
  expect(spans.map((span) => span.spanContext().traceId === TRACE)).toEqual([false, false, true]);
  expect(spans.flatMap(({ links }) => links)).toEqual([]);
});

it('drops a state that is too long, and continues the trace', () => {
  recordSpans();
  traceWithOpenTelemetry();
  const received = { traceparent, tracestate: `vendor=${'x'.repeat(600)}` };
  expect(start({ context: received, isTrusted: true })?.context).toEqual({
    traceparent: expect.stringContaining(TRACE),
  });
});

it('names a failure by its class, and not by its message', async () => {
  const exporter = recordSpans();
  traceWithOpenTelemetry();
  const span = start({ context: null, isTrusted: false });
  const failing = inSpan(span, async () => {
    expect(currentTracer()?.active()?.traceId).toBe(span?.traceId);
    throw new TypeError('the secret 1234');
  });
  await expect(failing).rejects.toThrow(TypeError);
  const [{ attributes, status, events } = expect.fail()] = exporter.getFinishedSpans();
  expect([attributes, status, events]).toEqual([{ 'error.type': 'TypeError' }, { code: 2 }, []]);
});
