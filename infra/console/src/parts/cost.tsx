// What the model took for an answer, in tokens and, where a price is published for the model that answered, in money.
import { prices } from '../../../../docs/scale/prices.json';
import type { ChatDone, Message } from '../api/types';
import { count } from '../format';

export type Usage = ChatDone['usage'];

/** Returns an answer's tokens and its model, as the chat has stored them. Some services count no tokens. */
export function usageOf(message: Message): { usage?: Usage; model?: string } {
  const { usage, model } = (message.metadata ?? {}) as { usage?: Usage; model?: string };
  return { usage: usage?.totalTokens ? usage : undefined, model };
}

/** The chat model's price of a million tokens of a kind. */
const priceOf = (tokens: string) => prices.find((p) => p.what.endsWith(`, a million ${tokens} tokens`))!;
const [input, cached, output] = [priceOf('input'), priceOf('cached input'), priceOf('output')];
/** The model that the prices are for: the first word of what they say they are of. */
export const pricedModel = input.what.split(',')[0]!;

/** Whether the prices are those of a model: the priced one, or a dated version of it. */
const isPriced = (model?: string) => model !== undefined && new RegExp(`^${pricedModel}(-\\d{4}-\\d{2}-\\d{2})?$`).test(model);

/** What an answer costs in dollars by the list price, or undefined where there is none for its model. */
export function costOf(usage: Usage, model?: string): number | undefined {
  if (!isPriced(model)) return undefined;
  const { promptTokens, cachedTokens, completionTokens } = usage;
  return ((promptTokens - cachedTokens) * input.usd + cachedTokens * cached.usd + completionTokens * output.usd) / 1e6;
}

export const dollars = (usd: number) => `$${usd.toPrecision(2)}`;

const list = (usd: number) => `$${usd.toFixed(2)}`;

export const priceList = `${pricedModel}: ${list(input.usd)} for a million tokens in, ${list(cached.usd)} cached, ${list(output.usd)} out (${input.date})`;

/** The cost of an answer, or that there is no price for its model. */
export function Cost({ usage, model }: { usage: Usage; model?: string }) {
  const usd = costOf(usage, model);
  if (usd === undefined) return <span title={`No published price is known for ${model ?? 'a model without a name'}`}>not priced</span>;
  return <span title={priceList}>{dollars(usd)}</span>;
}

/** An answer's tokens and cost in one line. */
export function Tokens({ message }: { message: Message }) {
  const { usage, model } = usageOf(message);
  if (!usage) return null;
  return (
    <span class="tokens">
      {count(usage.promptTokens)} in{usage.cachedTokens > 0 && ` (${count(usage.cachedTokens)} cached)`}, {count(usage.completionTokens)} out,{' '}
      <Cost usage={usage} model={model} />
    </span>
  );
}
