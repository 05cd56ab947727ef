/** 10,000 open streams that deliver nothing, or as many as this process may open files for. */
import { expect, it } from 'vitest';
import { openIdleStreams } from '../../packages/gateway/test/support/idle-streams.ts';

/** Files that this process may have open. */
function fileLimit(): number {
  const { userLimits } = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft: number | 'unlimited' } };
  };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : 100_000;
}

it('leave the gateway able to answer, cost little memory each, and end with their clients', async () => {
  // Client, gateway and backend are in this process: four sockets for each stream.
  const count = Math.min(10_000, Math.floor((fileLimit() - 500) / 4 / 50) * 50);
  const streams = await openIdleStreams(count);
  try {
    expect(streams.bytesEach).toBeLessThan(150_000);
    for (let time = 0; time < 3; time += 1) {
      const startedAt = performance.now();
      expect((await streams.gateway.send('alice')).status).toBe(200);
      expect(performance.now() - startedAt).toBeLessThan(2000);
    }
  } finally {
    await streams.close();
  }
  await expect.poll(() => streams.backend.aborted()).toBe(count);
}, 300_000);
