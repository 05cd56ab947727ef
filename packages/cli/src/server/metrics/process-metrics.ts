/** Metrics of the process, by the names that Prometheus' client libraries share. */
import { readdirSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { counter, type Family, gauge } from './prometheus-exposition.ts';

/** @returns a function that reads them */
export function createProcessMetrics(): () => readonly Family[] {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  const startedAt = Date.now() / 1000 - process.uptime();
  return () => {
    const { user, system } = process.cpuUsage();
    const lag = delay.percentile(99) / 1e9;
    // Since the last scrape: one stall at startup would hide all later ones.
    delay.reset();
    return [
      counter('process_cpu_seconds_total', 'CPU time of the process.', (user + system) / 1e6),
      gauge('process_resident_memory_bytes', 'Resident memory of the process.', process.memoryUsage.rss()),
      ...openDescriptors(),
      gauge('process_start_time_seconds', 'When the process started, in epoch seconds.', startedAt),
      gauge(
        'nodejs_eventloop_lag_p99_seconds',
        'Event loop lag since the last scrape, 99th percentile.',
        lag,
      ),
    ];
  };
}

/** Available on Linux only. */
function openDescriptors(): readonly Family[] {
  try {
    const { length } = readdirSync('/proc/self/fd');
    return [gauge('process_open_fds', 'Open file descriptors.', length)];
  } catch {
    return [];
  }
}
