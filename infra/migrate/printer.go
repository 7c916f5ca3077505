package migrate

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/throughline/throughline/internal/migration"
)

// printer prints how far a run is, and its report.
type printer struct {
	out    io.Writer
	json   bool
	action string // whose progress is printed
	now    func() time.Time
	// at and messages are the time and the count of the last line.
	at       time.Time
	messages int
}

// line prints one line of progress: the share of the records that were read, the messages a second since the last line,
// and the time that the slowest segment still needs. Until the action has stored how far it is, the status is that of
// the action before it, which is not printed.
func (p *printer) line(a answer) {
	if p.json || string(a.Progress.Action) != p.action {
		return
	}
	now, got := p.now(), a.Progress
	text := fmt.Sprintf("%s  %s %3.0f%%  %d sessions, %d messages", now.Format(time.TimeOnly), got.Action, got.Percent,
		got.Sessions, got.Messages)
	if seconds := now.Sub(p.at).Seconds(); !p.at.IsZero() && seconds > 0 {
		text += fmt.Sprintf(", %.0f messages/s", float64(max(0, got.Messages-p.messages))/seconds)
	}
	if got.SecondLeft > 0 {
		text += fmt.Sprintf(", %s left", time.Duration(got.SecondLeft)*time.Second)
	}
	if got.Problems > 0 {
		text += fmt.Sprintf(", %d problems", got.Problems)
	}
	p.at, p.messages = now, got.Messages
	fmt.Fprintln(p.out, text)
}

// maxListed is how many sessions the report lists.
const maxListed = 20

func (p *printer) report(a answer) {
	if p.json {
		p.object(a)
		return
	}
	cleaned := ""
	if a.Cleaned {
		cleaned = ", cleaned up"
	}
	fmt.Fprintf(p.out, "stage       %s for %d%% of the users%s\n", a.Stage, a.Percent, cleaned)
	fmt.Fprintf(p.out, "backfilled  %d%% of the users\n", a.Backfilled)
	if a.VerifiedAt != "" {
		fmt.Fprintf(p.out, "verified    %s\n", a.VerifiedAt)
	}
	p.last(a.Progress)
	if f := a.Forecast; f != nil {
		fmt.Fprintf(p.out, "forecast    %d sessions, %d messages, %d records written, %.0f write units, %.0f read units, "+
			"%s, %.2f USD\n", f.Sessions, f.Messages, f.Items, f.WriteUnits, f.ReadUnits,
			time.Duration(f.Seconds)*time.Second, f.USD)
	}
	for _, f := range a.Findings {
		fmt.Fprint(p.out, f.Text())
	}
	for i, m := range a.Mismatches {
		if i == maxListed {
			fmt.Fprintf(p.out, "  and %d more; -json lists them\n", len(a.Mismatches)-i)
			break
		}
		fmt.Fprintf(p.out, "  %s of %s: %s\n", m.SessionID, m.UserID, m.Reason)
	}
}

func (p *printer) last(got migration.Progress) {
	if got.Action == "" {
		return
	}
	fmt.Fprintf(p.out, "%-11s %.0f%%: %d records read, %d sessions, %d of them changed, %d messages, %d problems\n",
		got.Action, got.Percent, got.Items, got.Sessions, got.Changed, got.Messages, got.Problems)
}

func (p *printer) object(a answer) {
	raw, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		raw = []byte(err.Error())
	}
	fmt.Fprintln(p.out, string(raw))
}
