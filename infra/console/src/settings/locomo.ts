// Reads a LoCoMo file: conversations of two speakers in dated sessions. The first speaker is the user.
import type { ContextName, NewMessage } from '../api/types';

export interface Conversation {
  id: string;
  sessions: { id: string; context: ContextName; messages: NewMessage[] }[];
}

interface Turn {
  speaker: string;
  text: string;
  blip_caption?: string;
}

const surfaces: ContextName[] = ['coach_conversation', 'program_designer', 'workout_log'];
const dated = /^(\d{1,2}):(\d{2}) (am|pm) on (\d{1,2}) (\w+), (\d{4})$/;
const months = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];

export function parseLoCoMo(text: string): Conversation[] {
  const file: unknown = JSON.parse(text);
  if (!Array.isArray(file)) throw new Error('A LoCoMo file is a list of conversations.');
  return file.map((entry: { sample_id?: string; conversation?: Record<string, unknown> }, i) => {
    if (!entry.conversation) throw new Error('A LoCoMo file is a list of conversations, and this entry has none.');
    return { id: entry.sample_id ?? `conversation-${i + 1}`, sessions: sessionsOf(entry.conversation) };
  });
}

function sessionsOf(fields: Record<string, unknown>): Conversation['sessions'] {
  const sessions: Conversation['sessions'] = [];
  for (let n = 1; fields[`session_${n}_date_time`] !== undefined; n++) {
    const turns = fields[`session_${n}`] as Turn[] | undefined;
    if (!turns) continue; // a date without a conversation
    const start = timeOf(String(fields[`session_${n}_date_time`]));
    const messages = turns.map((turn, i) => messageOf(turn, fields.speaker_a as string, start + i * 20_000));
    sessions.push({ id: `session-${n}`, context: surfaces[n % surfaces.length]!, messages });
  }
  return sessions;
}

function messageOf(turn: Turn, user: string, time: number): NewMessage {
  const image = turn.blip_caption ? `\n[shares a picture: ${turn.blip_caption}]` : '';
  return {
    role: turn.speaker === user ? 'user' : 'assistant',
    content: turn.text + image || '…',
    timestamp: new Date(time).toISOString(),
  };
}

/** Parses a time such as "1:56 pm on 8 May, 2023". */
function timeOf(text: string): number {
  const [, hour, minute, half, day, month, year] = dated.exec(text) ?? [];
  const index = months.indexOf(month ?? '');
  if (index < 0) throw new Error(`This is not a time of a session: ${text}`);
  return Date.UTC(Number(year), index, Number(day), (Number(hour) % 12) + (half === 'pm' ? 12 : 0), Number(minute));
}
