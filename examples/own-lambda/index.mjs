// The same function for Node. Lambda's runtime has @aws-sdk/client-lambda and the global awslambda.
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { Client } from '@throughline/client';
import OpenAI from 'openai';

/** The server's credential, from the issuer by client credentials. The client keeps it until it is about to expire. */
async function credential() {
  const { TOKEN_URL, TOKEN_FORM, CLIENT_ID, CLIENT_SECRET } = process.env;
  const basic = Buffer.from([CLIENT_ID, CLIENT_SECRET].map(encodeURIComponent).join(':')).toString('base64');
  const answer = await fetch(TOKEN_URL, {
    method: 'POST', body: new URLSearchParams(TOKEN_FORM), headers: { Authorization: `Basic ${basic}` },
  });
  const token = answer.ok && (await answer.json()).access_token;
  if (!token) throw new Error(`the issuer gives no token, and answers ${answer.status}`);
  return token;
}

const functions = new LambdaClient();
const memory = new Client({ baseUrl: process.env.THROUGHLINE, token: credential });
const models = new OpenAI({ baseURL: process.env.OPENAI_BASE_URL, apiKey: process.env.OPENAI_API_KEY });

/** Streams the answer to a message. It is stored with the message once it is whole. */
export async function answer(user, message, write) {
  const session = { context: 'coach_conversation', coachId: 'kim' };
  await memory.as(user).getOrCreateSession('coach', session);
  const { Payload, FunctionError } = await functions.send(new InvokeCommand({
    FunctionName: process.env.PROMPT_FUNCTION,
    Payload: JSON.stringify({ userId: user, sessionId: 'coach', ...session, message, format: 'openai-chat' }),
  }));
  const built = Buffer.from(Payload).toString();
  if (FunctionError) throw new Error(`prompt: ${built}`);
  const { messages } = JSON.parse(built).openaiChat;
  let text = '';
  for await (const chunk of await models.chat.completions.create({ model: process.env.MODEL, messages, stream: true })) {
    const piece = chunk.choices[0]?.delta.content ?? '';
    text += piece;
    write(piece);
  }
  await memory.as(user).appendMessages('coach', {
    messages: [{ role: 'user', content: message }, { role: 'assistant', content: text }],
  });
}

export const handler = globalThis.awslambda?.streamifyResponse(async (event, stream) => {
  const user = event.headers.user; // your app checks its own session here
  const { message } = JSON.parse(event.isBase64Encoded ? Buffer.from(event.body, 'base64') : event.body);
  await answer(user, message, (piece) => stream.write(piece));
  stream.end();
});
