import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'

/*
 * A real OpenTelemetry SDK with the instrumentation of undici, as operators load it with `node --import`.
 */

/** Holds every span that has ended. */
export const exporter = new InMemorySpanExporter()

const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
const instrumentation = new UndiciInstrumentation({ enabled: false })
instrumentation.setTracerProvider(provider)
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
propagation.setGlobalPropagator(new W3CTraceContextPropagator())
trace.setGlobalTracerProvider(provider)
instrumentation.enable()

/** Removes the SDK for the other tests of this process. */
export function unloadSdk(): void {
  instrumentation.disable()
  trace.disable()
  propagation.disable()
  context.disable()
}
