'use client';
import { useChat } from '@ai-sdk/react';
import { Client } from '@throughline/client';
import { ThroughlineChatTransport } from '@throughline/client/chat';
import { useEffect, useRef, useState } from 'react';

/** The route of this app adds the credential and the user, so the page has no token. */
const client = new Client({ baseUrl: location.origin, token: 'none' });
const transport = new ThroughlineChatTransport({ client });

const screens = [
  { id: 'coach', title: 'Coach', session: { context: 'coach_conversation', coachId: 'kim' }, hint: 'What should I do tomorrow?' },
  { id: 'designer', title: 'Program designer', session: { context: 'program_designer', coachId: 'kim' }, hint: 'Swap the hip thrusts.' },
];

/** Two screens of the app. Each is a conversation of its own, and both have one memory. */
export default function Page() {
  return (
    <main>
      {screens.map((screen) => <Screen key={screen.id} screen={screen} />)}
    </main>
  );
}

/** Makes the session unless it exists, and returns its last messages. */
async function open({ id, session }) {
  await client.getOrCreateSession(id, session);
  const { items } = await client.listUiMessages(id, { order: 'desc', limit: 50 }).page();
  return items.reverse();
}

/** Shows a chat when its history is loaded. */
function Screen({ screen }) {
  const [history, setHistory] = useState();
  const [error, setError] = useState();
  useEffect(() => { open(screen).then(setHistory, setError); }, [screen]);
  return (
    <section aria-label={screen.title}>
      <h1>{screen.title}</h1>
      {error && <p role="alert">{error.message}</p>}
      {history && <Chat screen={screen} history={history} />}
    </section>
  );
}

function Chat({ screen, history }) {
  const { messages, sendMessage, regenerate, stop, status, error } = useChat({
    id: screen.id, messages: history, transport, resume: true,
  });
  const list = useRef();
  useEffect(() => { list.current.scrollTop = list.current.scrollHeight; }, [messages]);
  const [text, setText] = useState('');
  const busy = status === 'submitted' || status === 'streaming';
  const send = (event) => {
    event.preventDefault();
    if (text.trim() === '' || busy) return;
    sendMessage({ text });
    setText('');
  };
  return (
    <>
      <ol ref={list} aria-live="polite">
        {messages.map(({ id, role, parts }) => (
          <li key={id} className={role}>
            {parts.filter(({ type }) => type === 'text').map((part) => part.text).join('')}
          </li>
        ))}
        {status === 'submitted' && <li className="assistant waiting">…</li>}
      </ol>
      {error && <p role="alert">{error.message}</p>}
      <form onSubmit={send}>
        <input aria-label={`Message to ${screen.title}`} placeholder={screen.hint} value={text} onChange={(e) => setText(e.target.value)} />
        {busy
          ? <button type="button" onClick={stop}>Stop</button>
          : <button disabled={text.trim() === ''}>Send</button>}
        <button type="button" disabled={busy || messages.length === 0} onClick={() => regenerate()}>Again</button>
      </form>
    </>
  );
}
