// A route that streams the answer of your own model. When the page goes away, the memory has what it was shown. As
// app/api/chat/route.ts it is one of Next.js; any server of web Requests takes it.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { Client } from '@throughline/client';
import { streamText, type LanguageModel } from 'ai';

const baseUrl = process.env.THROUGHLINE ?? 'http://localhost:8080';

/** The server's credential. This is the local stack's; on AWS it is your issuer's, by client credentials. */
async function credential(): Promise<string> {
  const headers = { 'Content-Type': 'application/json' };
  const answer = await fetch(`${baseUrl}/dev/tokens`, { method: 'POST', headers, body: '{"server":true}' });
  return ((await answer.json()) as { token: string }).token;
}

// On AWS turns have an address of their own, CoachUrl, beside ApiUrl.
const server = new Client({ baseUrl, streamUrl: process.env.THROUGHLINE_STREAM ?? baseUrl, token: credential });

/** Your model: any that the AI SDK knows. This one is the offline model of the local stack. */
async function model(): Promise<LanguageModel> {
  const { openaiBaseUrl } = (await (await fetch(`${baseUrl}/dev/info`)).json()) as { openaiBaseUrl: string };
  const baseURL = process.env.OPENAI_BASE_URL ?? openaiBaseUrl;
  return createOpenAICompatible({ name: 'offline', baseURL, apiKey: 'offline' })('throughline-offline');
}

/** Says who asks. Here your app's own check of its sign-in goes. */
function signedIn(request: Request): string {
  return /(?:^|; )user=([^;]+)/.exec(request.headers.get('Cookie') ?? '')?.[1] ?? '';
}

export async function POST(request: Request): Promise<Response> {
  const { session, message } = (await request.json()) as { session: string; message: string };
  const memory = server.as(signedIn(request));
  await memory.getOrCreateSession(session, { context: 'coach_conversation', coachId: 'kim' });
  const { turnId, prompt } = await memory.beginTurn({ sessionId: session, message, format: 'parts' });

  let said = '';
  const finish = async (error?: string) => { await memory.finishTurn(turnId, { content: said, ...(error && { error }) }); };
  const result = streamText({
    model: await model(),
    ...prompt.parts,
    abortSignal: request.signal, // It is aborted when the page goes away.
    onChunk: ({ chunk }) => { if (chunk.type === 'text-delta') said += chunk.text; },
    onFinish: () => finish(),
    onAbort: () => finish('the page went away'),
    onError: ({ error }) => finish(String(error)),
  });
  // It reads to the end where the page does not, so that the turn is finished. A host that stops a function after its
  // answer has to wait for it: after(result.consumeStream()) in Next.js.
  void result.consumeStream();
  return result.toTextStreamResponse();
}
