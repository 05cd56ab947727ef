/** Runs the examination: follows a client's steps, records every exchange, and builds the report. */
import { createMemoryStore } from '@portcullis/client';
import { createExamination, type ExaminationContext, type ExaminationOptions } from './examination.ts';
import { readGatewayHealth, reportGatewayHealth } from './gateway.ts';
import { removeRegisteredClients, trackRegistrations } from './registered-clients.ts';
import type { Report } from './report.ts';
import { ExaminationStopped } from './report-builder.ts';
import {
  examineAuthorization,
  examineCall,
  examineDiscovery,
  examineRequest,
  examineTokens,
} from './steps.ts';

/** @throws ClientError if the client options are invalid */
export async function examine(options: ExaminationOptions): Promise<Report> {
  const { store, registrations } = trackRegistrations(createMemoryStore());
  const context = createExamination(options, store);
  const { server, client, oauthFetch, report } = context;
  try {
    await runSteps(context, options.signIn);
  } catch (error) {
    if (!(error instanceof ExaminationStopped)) throw error;
  } finally {
    if (options.signIn) await client.signOut();
    report.addDecisions(...(await removeRegisteredClients(registrations, oauthFetch)));
  }
  return { server, at: new Date().toISOString(), ...report.report() };
}

async function runSteps(context: ExaminationContext, isSignedIn: boolean): Promise<void> {
  await examineRequest(context);
  const discovery = await examineDiscovery(context);
  await examineAuthorization(context, discovery);
  const health = await readGatewayHealth(context);
  if (!isSignedIn) return reportGatewayHealth(context, health);
  await examineTokens(context, discovery);
  await examineCall(context, discovery, health !== 'none');
}
