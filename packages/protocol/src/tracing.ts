/** Spans of requests and operations. Without a registered tracer nothing is measured, and a check for `null` is all it costs. */

/** Attributes of a span. Never a secret, token, code, cookie or argument of a call. */
type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** The trace context of a message: what the headers of these names contain. @see W3C Trace Context §3 */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** What is known of a span when it starts. */
export interface SpanStart {
  readonly kind: 'server' | 'client' | 'internal';
  readonly attributes?: SpanAttributes;
  /** Milliseconds since the epoch; now by default. */
  readonly startedAt?: number;
  /**
   * The trace context that the sender of the request chose: a trusted one is continued, any other becomes a link, because it could
   * add spans to traces of others, or have every request sampled. Without one, the active span is the parent.
   */
  readonly received?: { readonly context: TraceContext | null; readonly isTrusted: boolean };
}

/** A span in progress. */
export interface Span {
  readonly traceId: string;
  /** For the messages that are sent as a part of it. */
  readonly context: TraceContext;
  /** Runs work as a part of it: spans that it starts are children. */
  run<T>(work: () => T): T;
  set(attributes: SpanAttributes): void;
  /** @param failure a type of error of few values, never its message; `null`: it succeeded */
  end(failure?: string | null): void;
}

/** Starts spans. */
export interface Tracer {
  /** @returns `null`: no SDK is registered */
  start(name: string, start: SpanStart): Span | null;
  /** The span that the current work is a part of. */
  active(): Pick<Span, 'traceId' | 'context'> | null;
}

let registered: Tracer | null = null;

/** Registers the tracer of this process; `null` ends tracing. */
export function registerTracer(tracer: Tracer | null): void {
  registered = tracer;
}

/** The tracer of this process; `null`: nothing is traced. */
export function currentTracer(): Tracer | null {
  return registered;
}

/** Starts a span if this process traces. @param describe called only then */
export function startSpan(name: () => string, describe: () => SpanStart): Span | null {
  return registered === null ? null : registered.start(name(), describe());
}

/**
 * Starts the span of a request to an endpoint, if this process traces.
 * @param route of the endpoint, without the values of its parameters
 * @param isTrusted whether the sender may choose the trace. @see SpanStart.received
 * @see OpenTelemetry semantic conventions, HTTP server spans
 */
export function startEndpointSpan(
  { method, headers }: { readonly method: string; readonly headers: { get(name: string): string | null } },
  route: string,
  isTrusted: boolean,
): Span | null {
  if (registered === null) return null;
  return registered.start(`${method} ${route}`, {
    kind: 'server',
    attributes: { 'http.request.method': method, 'http.route': route },
    received: { context: readTraceContext((name) => headers.get(name)), isTrusted },
  });
}

/**
 * Runs work in a span, if there is one, and ends it. A failure is named by the class of its error.
 * @param failureOf names the failure that a result reports
 */
export function inSpan<T>(
  span: Span | null,
  work: () => Promise<T>,
  failureOf: (result: T) => string | null = () => null,
): Promise<T> {
  return span === null ? work() : endAfter(span, work, failureOf);
}

/**
 * Handles or sends an HTTP request in a span, if there is one, and ends it.
 * @param failing the status from which on the response is a failure: for a client also those that blame the request
 * @see OpenTelemetry semantic conventions, HTTP spans, status
 */
export function inHttpSpan<T extends { readonly status: number }>(
  span: Span | null,
  failing: 400 | 500,
  work: () => Promise<T>,
): Promise<T> {
  if (span === null) return work();
  return endAfter(span, work, ({ status }) => {
    span.set({ 'http.response.status_code': status });
    return status >= failing ? String(status) : null;
  });
}

async function endAfter<T>(
  span: Span,
  work: () => Promise<T>,
  failureOf: (result: T) => string | null,
): Promise<T> {
  try {
    const result = await span.run(work);
    span.end(failureOf(result));
    return result;
  } catch (error) {
    span.end(error instanceof Error ? error.name : typeof error);
    throw error;
  }
}

/** The trace context in the headers of a request; `null`: there is none. */
export function readTraceContext(
  get: (name: keyof TraceContext) => string | readonly string[] | null | undefined,
): TraceContext | null {
  const [traceparent, tracestate] = [get('traceparent'), get('tracestate')];
  if (typeof traceparent !== 'string') return null;
  return { traceparent, ...(typeof tracestate === 'string' && { tracestate }) };
}
