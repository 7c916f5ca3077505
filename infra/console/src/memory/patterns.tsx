// The user summary: patterns, wins and struggles.
import type { UserSummary } from '../api/types';
import { age } from '../format';
import { Empty } from '../parts/state';

export function Patterns({ summary }: { summary?: UserSummary }) {
  const parts = [
    ['Patterns', summary?.patterns],
    ['Wins', summary?.wins],
    ['Struggles', summary?.struggles],
  ] as const;
  const empty = parts.every(([, lines]) => !lines?.length);
  return (
    <section>
      <h2>User summary</h2>
      {empty && <Empty title="Not written yet">It follows from the summaries of several sessions.</Empty>}
      {parts.map(([label, lines]) =>
        lines?.length ? (
          <section key={label}>
            <h3>{label}</h3>
            <ul>
              {lines.map((line) => (
                <li key={line}>{line}</li>
              ))}
            </ul>
          </section>
        ) : null,
      )}
      {summary?.lastUpdated && <p class="soft">Written {age(summary.lastUpdated)}.</p>}
    </section>
  );
}
