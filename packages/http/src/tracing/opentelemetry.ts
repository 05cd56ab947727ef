/** Spans by the API of OpenTelemetry: they go to the SDK that the program has registered, and nowhere without one. */
import {
  type Span as ApiSpan,
  type Context,
  context,
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import {
  registerTracer,
  type Span,
  type SpanStart,
  type TraceContext,
  type Tracer,
} from '@portcullis/protocol';

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL };

/** Traces requests and operations of this process, as soon as an SDK of OpenTelemetry is registered. */
export function traceWithOpenTelemetry(): void {
  registerTracer(createTracer());
}

function createTracer(): Tracer {
  const tracer = trace.getTracer('@portcullis/http');
  return {
    start(name, start) {
      const received = readReceived(start);
      const parent =
        received === null
          ? context.active()
          : start.received?.isTrusted === true
            ? trace.setSpanContext(ROOT_CONTEXT, received)
            : ROOT_CONTEXT;
      const { kind, attributes = {}, startedAt } = start;
      const isLinked = received !== null && start.received?.isTrusted !== true;
      const options = {
        kind: KINDS[kind],
        attributes,
        ...(startedAt !== undefined && { startTime: startedAt }),
        ...(isLinked && { links: [{ context: received }] }),
      };
      const span = tracer.startSpan(name, options, parent);
      return isSpanContextValid(span.spanContext()) ? createSpan(span, parent) : null;
    },
    active() {
      const span = trace.getSpanContext(context.active());
      return span === undefined || !isSpanContextValid(span)
        ? null
        : { traceId: span.traceId, context: formatContext(span) };
    },
  };
}

function createSpan(span: ApiSpan, parent: Context): Span {
  const own = span.spanContext();
  const within = trace.setSpan(parent, span);
  return {
    traceId: own.traceId,
    context: formatContext(own),
    run: (work) => context.with(within, work),
    set: (attributes) => void span.setAttributes(attributes),
    end(failure = null) {
      if (failure !== null) {
        span.setAttribute('error.type', failure);
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end();
    },
  };
}

/** @see W3C Trace Context §3.2.2; later versions have further fields */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** @see W3C Trace Context §3.3.1.5 */
const MAX_TRACESTATE = 512;

/** @returns `null`: there is none, or it is malformed */
function readReceived({ received }: SpanStart): SpanContext | null {
  const { traceparent = '', tracestate = '' } = received?.context ?? {};
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(traceparent) ?? [];
  if (version === '00' && more !== undefined) return null;
  const found: SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
    isRemote: true,
    ...(tracestate !== '' &&
      tracestate.length <= MAX_TRACESTATE && { traceState: createTraceState(tracestate) }),
  };
  return isSpanContextValid(found) ? found : null;
}

function formatContext({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceContext {
  const tracestate = traceState?.serialize() ?? '';
  const flags = traceFlags.toString(16).padStart(2, '0');
  return { traceparent: `00-${traceId}-${spanId}-${flags}`, ...(tracestate !== '' && { tracestate }) };
}
