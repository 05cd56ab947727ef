/** Entry point `tracing`: spans of requests and operations. */
export {
  currentTracer,
  inHttpSpan,
  inSpan,
  readTraceContext,
  registerTracer,
  type Span,
  type SpanStart,
  startEndpointSpan,
  startSpan,
  type TraceContext,
  type Tracer,
} from '@portcullis/protocol';
